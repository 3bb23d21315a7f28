//! How values come to an end of types that hold themselves.

use crate::error::SchemaError;
use crate::shape::ValueShape;
use std::collections::BTreeMap;

/// Most types with names inside each other that the smallest value of one has.
const HEIGHT_MAX: u32 = 64;

/// Finds out of each union which variant ends soonest. `numbers`: of the types with names.
///
/// # Errors
/// A type holds itself in all of its values.
pub(crate) fn find(
    whole: &mut ValueShape,
    named: &mut [ValueShape],
    numbers: &BTreeMap<String, usize>,
) -> Result<(), SchemaError> {
    let mut heights: Vec<Option<u32>> = vec![None; named.len()];
    for _ in 0..=HEIGHT_MAX {
        let found: Vec<Option<u32>> = named.iter().map(|shape| height(shape, &heights)).collect();
        if found == heights {
            break;
        }
        heights = found;
    }
    if let Some(name) = numbers.iter().find_map(|(name, number)| heights[*number].is_none().then_some(name)) {
        let message =
            format!("has no end: `{name}` holds itself, or more than {HEIGHT_MAX} others in each other");
        return Err(SchemaError::new(message).hint("a union with `null` lets it end"));
    }
    settle(whole, &heights);
    named.iter_mut().for_each(|shape| settle(shape, &heights));
    Ok(())
}

/// How many types with names are inside each other in the smallest value; `None`: not known yet.
fn height(shape: &ValueShape, heights: &[Option<u32>]) -> Option<u32> {
    match shape {
        ValueShape::Named(number) => heights[*number].map(|height| height + 1),
        ValueShape::Union(variants, _) => {
            variants.iter().filter_map(|variant| height(variant, heights)).min()
        }
        ValueShape::Record(fields) => fields
            .iter()
            .map(|field| height(field, heights))
            .try_fold(0, |most, field| Some(most.max(field?))),
        // Arrays and maps may be empty.
        _ => Some(0),
    }
}

fn settle(shape: &mut ValueShape, heights: &[Option<u32>]) {
    match shape {
        ValueShape::Array(inner, _) | ValueShape::Map(inner, _) => settle(inner, heights),
        ValueShape::Record(fields) => fields.iter_mut().for_each(|field| settle(field, heights)),
        ValueShape::Union(variants, soonest) => {
            let height_of = |at: &usize| height(&variants[*at], heights).unwrap_or(u32::MAX);
            *soonest = (0..variants.len()).min_by_key(height_of).unwrap_or_default();
            variants.iter_mut().for_each(|variant| settle(variant, heights));
        }
        _ => {}
    }
}
