//! What a target costs, as its file declares it.

use crate::input::{InputError, quoted};
use crate::keys;
use crate::units::{self, Dimension};
use crate::walk::Fields;
use crate::yaml::YamlNode;
use kdyno_model::plan::Price;

/// `price: {per_hour: 4.32, currency: USD}`.
pub(super) fn price(node: &YamlNode) -> Result<Price, InputError> {
    let fields = Fields::of(node, &keys::PRICE)?;
    let typed = fields.required("per_hour")?;
    let per_hour = units::parse_as(&typed.text, Dimension::Plain);
    let per_hour = per_hour.ok().filter(|price| *price > 0.0 && price.is_finite()).ok_or_else(|| {
        InputError::at(typed.place, format!("`per_hour`: {} is not a price", quoted(&typed.text)))
            .hint("a number above 0, the currency is a key of its own: `{per_hour: 4.32, currency: USD}`")
    })?;
    let currency = fields.required("currency")?;
    let is_code = currency.text.len() == 3 && currency.text.chars().all(|c| c.is_ascii_uppercase());
    if !is_code {
        let message = format!("`currency`: {} is not a currency's code", quoted(&currency.text));
        return Err(
            InputError::at(currency.place, message).hint("three capital letters, e.g. `USD` or `EUR`")
        );
    }
    Ok(Price { per_hour, currency: currency.text })
}

#[cfg(test)]
mod tests {
    use crate::target::TargetFile;
    use kdyno_model::plan::Price;

    fn read(price: &str) -> Result<Option<Price>, String> {
        let text =
            format!("kdyno: 1\ntarget: t\ncluster_id: x\nclient: {{bootstrap: [a:1]}}\n{price}guard: {{}}\n");
        let file = TargetFile::parse(&text, "t.yaml");
        let reported =
            |error: crate::input::InputError| format!("{error} | {}", error.hint.clone().unwrap_or_default());
        file.and_then(|file| file.resolve(None)).map(|target| target.attached.price).map_err(reported)
    }

    #[test]
    fn a_price_is_a_number_and_a_currency() {
        let price = Price { per_hour: 4.32, currency: "USD".to_owned() };
        assert_eq!(read("price: {per_hour: 4.32, currency: USD}\n"), Ok(Some(price)));
        assert_eq!(read(""), Ok(None));
        let cases = [
            ("{per_hour: 4.32 USD, currency: USD}", "`4.32 USD` is not a price"),
            ("{per_hour: 0, currency: USD}", "`0` is not a price"),
            ("{per_hour: -1, currency: USD}", "is not a price"),
            ("{per_hour: 1/s, currency: USD}", "is not a price"),
            ("{per_hour: 1, currency: dollars}", "three capital letters"),
            ("{per_hour: 1}", "lacks `currency`"),
            ("{per_hour: 1, currency: USD, hourly: 1}", "is not a key of `price`"),
        ];
        for (text, part) in cases {
            let reported = read(&format!("price: {text}\n")).unwrap_err();
            assert!(reported.starts_with("t.yaml:5:") && reported.contains(part), "{text}: {reported}");
        }
    }
}
