//! The topics of a producer. The partitions of one lie behind those of the one before, so that queues, numbers and sequences
//! have a place for each partition of each topic. Records go to one topic after the other.

use std::ops::Range;
use std::sync::Arc;

/// The partitions of all topics, by their places. With one topic a place is its partition.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Where the partitions of each topic begin, and where those of the last one end.
    begins: Arc<[usize]>,
}

impl Places {
    /// Places of topics with so many partitions each, at least one.
    pub(super) fn of(partitions: &[usize]) -> Self {
        let mut end = 0;
        let ends = partitions.iter().map(|count| {
            end += (*count).max(1);
            end
        });
        Self { begins: std::iter::once(0).chain(ends).collect() }
    }

    /// How many places there are.
    pub(super) fn count(&self) -> usize {
        self.begins.last().copied().unwrap_or(0)
    }

    fn topics(&self) -> usize {
        self.begins.len() - 1
    }

    /// The places of a topic.
    fn span(&self, topic: usize) -> Range<usize> {
        self.begins[topic]..self.begins[topic + 1]
    }

    /// The topic and the partition of a place.
    #[inline]
    pub(super) fn split(&self, place: usize) -> (usize, usize) {
        if self.topics() == 1 {
            return (0, place);
        }
        let topic = self.begins.partition_point(|begin| *begin <= place).saturating_sub(1);
        (topic, place - self.begins[topic])
    }

    /// The place of a topic's partition, if it has one.
    fn place(&self, topic: usize, partition: i32) -> Option<usize> {
        let span = self.span(topic);
        let place = span.start.checked_add(usize::try_from(partition).ok()?)?;
        span.contains(&place).then_some(place)
    }
}

/// Whose turn it is among the topics.
#[derive(Debug)]
pub(super) struct TopicTurns {
    places: Places,
    active: usize,
    /// By topic, while another one has its turn: the place that records go to, and the bytes that went there since it is.
    waiting: Vec<(usize, u64)>,
}

impl TopicTurns {
    /// `bytes`: what each topic begins with, so that its first record chooses a partition.
    pub(super) fn new(places: Places, bytes: u64) -> Self {
        let waiting = (0..places.topics()).map(|topic| (places.span(topic).start, bytes)).collect();
        Self { places, active: 0, waiting }
    }

    #[inline]
    pub(super) fn are_several(&self) -> bool {
        self.waiting.len() > 1
    }

    /// The places of the topic whose turn it is.
    pub(super) fn span(&self) -> Range<usize> {
        self.places.span(self.active)
    }

    pub(super) fn split(&self, place: usize) -> (usize, usize) {
        self.places.split(place)
    }

    pub(super) fn place(&self, topic: usize, partition: i32) -> Option<usize> {
        self.places.place(topic, partition)
    }

    /// The next topic has its turn: `current` and `current_bytes` become its own.
    #[inline]
    pub(super) fn next(&mut self, current: &mut usize, current_bytes: &mut u64) {
        if self.are_several() {
            self.waiting[self.active] = (*current, *current_bytes);
            self.active = (self.active + 1) % self.waiting.len();
            (*current, *current_bytes) = self.waiting[self.active];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_of_each_topic_has_a_place() {
        let places = Places::of(&[3, 1, 2]);
        let split: Vec<_> = (0..places.count()).map(|place| places.split(place)).collect();
        assert_eq!(split, [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]);
        for (place, (topic, partition)) in split.into_iter().enumerate() {
            assert_eq!(places.place(topic, partition as i32), Some(place));
        }
        assert_eq!((places.place(1, 1), places.place(2, -1)), (None, None));
        assert_eq!(Places::of(&[7]).split(5), (0, 5));
    }

    #[test]
    fn topics_have_their_turns_and_keep_where_they_are() {
        let mut turns = TopicTurns::new(Places::of(&[2, 2]), 9);
        let (mut current, mut bytes) = (1, 50);
        turns.next(&mut current, &mut bytes);
        assert_eq!((turns.span(), current, bytes), (2..4, 2, 9));
        (current, bytes) = (3, 70);
        turns.next(&mut current, &mut bytes);
        assert_eq!((turns.span(), current, bytes), (0..2, 1, 50));
        turns.next(&mut current, &mut bytes);
        assert_eq!((current, bytes), (3, 70));
    }
}
