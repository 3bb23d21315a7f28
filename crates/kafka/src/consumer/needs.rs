//! What brokers must speak to a consuming client.

use crate::group::Member;
use crate::messages::{Api, m01_fetch, m02_list_offsets, m03_metadata};

/// To one that is in no group.
pub const NEEDS: &[Api] = &[m03_metadata::API, m02_list_offsets::API, m01_fetch::API];

/// To a member of a group, by the classic protocol.
pub const NEEDS_CLASSIC: &[Api] =
    &joined::<{ NEEDS.len() + Member::NEEDS_CLASSIC.len() }>(Member::NEEDS_CLASSIC);

/// Versions for the consumer protocol.
pub const NEEDS_CONSUMER: &[Api] =
    &joined::<{ NEEDS.len() + Member::NEEDS_CONSUMER.len() }>(Member::NEEDS_CONSUMER);

/// Needs of every consuming client, then those of its membership.
const fn joined<const N: usize>(of_member: &[Api]) -> [Api; N] {
    let mut all = [NEEDS[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < NEEDS.len() { NEEDS[at] } else { of_member[at - NEEDS.len()] };
        at += 1;
    }
    all
}
