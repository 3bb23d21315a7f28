//! The partitions of all topics of a client as numbers. With one topic a number is the partition. Other than a producer's they do
//! not lie close together, since a topic may get further partitions while it is read.

use std::fmt;

/// Bits of a partition.
const PARTITION_BITS: u32 = 20;
/// Most topics of a client.
const TOPICS_MAX: usize = 1 << (31 - PARTITION_BITS);

/// The place of a topic's partition, by the topic's place among those of the client; `None`: no broker has so many.
pub(super) fn place(topic: usize, partition: i32) -> Option<i32> {
    let is_possible = topic < TOPICS_MAX && (0..1 << PARTITION_BITS).contains(&partition);
    is_possible.then_some(((topic as i32) << PARTITION_BITS) | partition)
}

/// The topic and the partition of a place.
pub(super) fn split(place: i32) -> (usize, usize) {
    let topic = usize::try_from(place >> PARTITION_BITS).unwrap_or(usize::MAX);
    (topic, (place & ((1 << PARTITION_BITS) - 1)) as usize)
}

/// A place in words.
pub(super) struct PlaceWords(pub(super) i32);

impl fmt::Display for PlaceWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match split(self.0) {
            (0, partition) => write!(f, "partition {partition}"),
            (topic, partition) => write!(f, "partition {partition} of topic {}", topic + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_of_each_topic_has_a_place() {
        for (topic, partition) in [(0, 0), (0, 77), (1, 0), (999, (1 << PARTITION_BITS) - 1), (2_047, 5)] {
            let place = place(topic, partition).expect("a place");
            assert_eq!(split(place), (topic, partition as usize));
        }
        assert_eq!(place(0, 77), Some(77));
        for (topic, partition) in [(0, -1), (0, 1 << PARTITION_BITS), (2_048, 0)] {
            assert_eq!(place(topic, partition), None, "{topic} {partition}");
        }
        assert_eq!(PlaceWords(77).to_string(), "partition 77");
        assert_eq!(PlaceWords((1 << PARTITION_BITS) | 3).to_string(), "partition 3 of topic 2");
    }
}
