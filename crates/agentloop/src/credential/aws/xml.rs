//! Reads the few elements of XML that the service for roles (STS) responds with.
//!
//! STS has no other form of responses: its description in Amazon's SDKs names the protocol `query` alone (botocore 1.43,
//! `data/sts/2011-06-15/service-2.json`).

use std::collections::BTreeMap;

use crate::limits::MAX_CREDENTIAL_XML_DEPTH;

/// Returns the texts of the elements directly below the first element named `parent`, by their names without a prefix.
///
/// Returns `None` if there is no such element, and for everything that these responses do not have: elements that are not closed,
/// elements deeper than [`MAX_CREDENTIAL_XML_DEPTH`], document types, and entities other than those of XML itself.
pub(super) fn children(text: &str, parent: &str) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut is_done = false;
    let mut open: Vec<&str> = Vec::new();
    let mut content = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let is_inside = !is_done && open.iter().rev().nth(1) == Some(&parent);
        if is_inside {
            content.push_str(&decode(before)?);
        }
        rest = if let Some(comment) = after.strip_prefix("!--") {
            comment.split_once("-->")?.1
        } else if let Some(raw) = after.strip_prefix("![CDATA[") {
            let (raw, after) = raw.split_once("]]>")?;
            if is_inside {
                content.push_str(raw);
            }
            after
        } else if let Some(instruction) = after.strip_prefix('?') {
            instruction.split_once("?>")?.1
        } else if after.starts_with('!') {
            return None;
        } else if let Some(end) = after.strip_prefix('/') {
            let (name, after) = end.split_once('>')?;
            let name = local(name.trim_end());
            if open.pop()? != name {
                return None;
            }
            if is_inside {
                let text = std::mem::take(&mut content);
                found.get_or_insert_default().entry(name.to_owned()).or_insert(text);
            }
            is_done |= name == parent && !open.contains(&parent);
            after
        } else {
            let (tag, after) = tag(after)?;
            let name = local(tag.split([' ', '\t', '\r', '\n', '/']).next()?);
            if name.is_empty() {
                return None;
            }
            if !tag.ends_with('/') {
                open.push(name);
                content.clear();
            }
            if open.len() > MAX_CREDENTIAL_XML_DEPTH {
                return None;
            }
            after
        };
    }
    found.filter(|_| open.is_empty())
}

/// Splits behind the end of a tag. A `>` in the value of an attribute does not end it.
fn tag(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some((text.get(..at)?, text.get(at + 1..)?)),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns a name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Replaces the entities of XML itself.
fn decode(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let (entity, after) = after.split_once(';')?;
        decoded.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => {
                let number = number.strip_prefix('#')?;
                let number = match number.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                char::from_u32(number.ok()?)?
            }
        });
        rest = after;
    }
    decoded.push_str(rest);
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(text: &str, name: &str) -> Option<String> {
        children(text, "Credentials")?.remove(name)
    }

    #[test]
    fn the_children_of_an_element_are_read_wherever_it_is() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <Credentials> --><R xmlns=\"https://x/>\" a='\"'><Result>\n<Credentials>\n <A>1 &amp;&#x41;&#66;</A><B/><sts:C\n x=\"1\">c</sts:C><D><![CDATA[<&>]]></D><E><F>x</F></E></Credentials><Credentials><A>2</A><Z>z</Z></Credentials></Result></R>\n";
        assert_eq!(get(text, "A").as_deref(), Some("1 &AB"));
        assert_eq!(get(text, "C").as_deref(), Some("c"));
        assert_eq!(get(text, "D").as_deref(), Some("<&>"));
        for name in ["B", "F", "Z"] {
            assert_eq!(get(text, name), None, "{name}");
        }
    }

    #[test]
    fn every_cut_of_a_document_is_refused() {
        let text =
            "<R><Credentials><A>a&lt;b</A><B x='1'>b</B><!-- c --></Credentials><M>m</M></R>";
        assert!(children(text, "Credentials").is_some());
        for end in 0..text.len() {
            assert_eq!(children(&text[..end], "Credentials"), None, "{}", &text[..end]);
        }
    }

    #[test]
    fn what_these_responses_do_not_have_is_refused() {
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        for text in [
            "",
            "{}",
            "<",
            "<>",
            "</>",
            "<Credentials>",
            "<Credentials></Credential>",
            "<Credentials><A>1</B></Credentials>",
            "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><Credentials><A>&a;</A></Credentials>",
            "<Credentials><A>&a;</A></Credentials>",
            "<Credentials><A>&#xD800;</A></Credentials>",
            "<Credentials><A>&amp</A></Credentials>",
            "<Credentials><A x=\"></A></Credentials>",
            "</Credentials><Credentials><A>1</A></Credentials>",
            &deep,
        ] {
            assert_eq!(children(text, "Credentials"), None, "{text:.40}");
        }
    }
}
