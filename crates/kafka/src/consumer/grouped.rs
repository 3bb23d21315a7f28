//! A consuming client in a group, which says what its partitions are: they come and go as it says.

use super::Consumer;
use super::membership::{TopicMember, place_of};
use super::sink::RecordSink;
use super::types::FetchToken;
use crate::group::{self, GroupConfig, GroupEvent, Member, TopicPartition};
use std::sync::Arc;

impl<S: RecordSink> Consumer<S> {
    /// Makes it a member of a group, which it joins as soon as it is connected and polled.
    #[must_use]
    pub fn in_group(mut self, config: GroupConfig) -> Self {
        let topics: Vec<Arc<str>> = self.config.topics.iter().map(|topic| topic.as_str().into()).collect();
        let member = Member::new(GroupConfig { topics: topics.clone(), ..config });
        let numbers = topics.iter().cloned().zip(0..).collect();
        let partitions = vec![0; topics.len()];
        self.membership = Some(TopicMember { member, topics, numbers, events: Vec::new(), partitions });
        self
    }

    /// What it is in its group, if it is in one.
    pub fn member(&self) -> Option<&Member> {
        self.membership.as_ref().map(|membership| &membership.member)
    }

    /// The place of a partition that its group has named: what it goes by here.
    pub fn place(&self, one: &TopicPartition) -> Option<i32> {
        self.membership.as_ref()?.place(one)
    }

    /// Takes what happened to it as a member since the last call, each with its instant, ns.
    pub fn take_group_events(&mut self) -> Vec<(u64, GroupEvent)> {
        self.membership.as_mut().map(|membership| std::mem::take(&mut membership.events)).unwrap_or_default()
    }

    /// Its application asks for records: partitions may change hands.
    pub fn poll_group(&mut self, now_ns: u64) {
        self.as_member(|member, positions| member.poll(positions, now_ns));
    }

    /// It leaves its group in good order. It is to be [polled](Self::poll_group) until it has left.
    pub fn leave_group(&mut self, now_ns: u64) {
        self.as_member(|member, positions| member.leave(positions, now_ns));
    }

    /// Asks what is due of its coordinator, whether its application polls or not.
    pub fn ask_group(&mut self, now_ns: u64) {
        let Self { membership, connections, .. } = self;
        let Some(TopicMember { member, topics, partitions, .. }) = membership else { return };
        for (place, (topic, known)) in topics.iter().zip(partitions).enumerate() {
            let count = connections.partition_count(place);
            if count > 0 && count != *known {
                *known = count;
                let id = connections.topic_id(place).unwrap_or_default();
                member.set_topic(topic, id, i32::try_from(count).unwrap_or(i32::MAX));
            }
        }
        if member.take_wants_metadata() {
            connections.want_metadata();
        }
        member.ask(connections, FetchToken::Group, now_ns);
        self.take_events_of_member();
    }

    /// When it has something to do as a member by time alone, ns. `is_polling`: whether its application asks for records then.
    pub fn next_group_deadline(&self, is_polling: bool) -> Option<u64> {
        self.member()?.next_deadline(&self.connections, is_polling)
    }

    /// Whether it has what its group has for it; so has one without a group.
    pub(super) fn is_settled(&self) -> bool {
        self.member().is_none_or(Member::is_settled)
    }

    /// Its request to its coordinator is lost with the connection.
    pub(super) fn lose_requests(&mut self, now_ns: u64) {
        for (_, token) in self.connections.take_lost() {
            if let (FetchToken::Group(request), Some(membership)) = (token, &mut self.membership) {
                membership.member.on_lost(request, now_ns);
            }
        }
        self.take_events_of_member();
    }

    /// Does something as a member that has to know how far partitions were handed over.
    fn as_member(&mut self, act: impl FnOnce(&mut Member, &mut group::PositionLookup<'_>)) {
        let Self { membership, positions, sink, .. } = self;
        let Some(TopicMember { member, numbers, .. }) = membership else { return };
        let mut taken = |one: &TopicPartition| {
            let place = place_of(numbers, one)?;
            let fetched = positions.find(place)?.next?;
            let offset = sink.first_waiting(place).unwrap_or(fetched);
            Some(group::Position { offset, leader_epoch: -1 })
        };
        act(member, &mut taken);
        self.take_events_of_member();
    }

    /// Partitions come and go as the group has said.
    pub(super) fn take_events_of_member(&mut self) {
        let Some(membership) = &mut self.membership else { return };
        let reported = membership.member.take_events();
        for (at_ns, event) in reported {
            match &event {
                GroupEvent::Assigned(_) => self.positions.iter_mut().for_each(|one| one.is_stopped = false),
                GroupEvent::Start(starts) => {
                    let is_own = |one: &TopicPartition| {
                        self.member().is_some_and(|member| member.assigned().contains(one))
                    };
                    let own: Vec<_> = starts.iter().filter(|(one, _)| is_own(one)).cloned().collect();
                    for (one, position) in own {
                        if let Some(place) = self.place(&one) {
                            self.add(place, position.map(|position| position.offset));
                        }
                    }
                }
                GroupEvent::Revoking(all) => self.places(all).into_iter().for_each(|place| self.stop(place)),
                GroupEvent::Revoked(all) | GroupEvent::Lost(all) => {
                    for place in self.places(all) {
                        self.sink.forget(place);
                        self.remove(place);
                    }
                }
                _ => {}
            }
            if let Some(membership) = &mut self.membership {
                membership.events.push((at_ns, event));
            }
        }
    }

    /// The places of partitions that its group has named.
    fn places(&self, all: &[TopicPartition]) -> Vec<i32> {
        all.iter().filter_map(|one| self.place(one)).collect()
    }

    /// Nothing more of a partition is handed over; what came of it and waits is forgotten.
    fn stop(&mut self, partition: i32) {
        let waiting = self.sink.first_waiting(partition);
        self.sink.forget(partition);
        if let Some(position) = self.positions.find_mut(partition) {
            let next = waiting.or(position.next);
            (position.next, position.is_stopped, position.is_held) = (next, true, false);
        }
    }
}
