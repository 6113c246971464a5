//! How deep is JSON nested?

/// Whether arrays and objects are nested deeper than `most`. The text need not be valid JSON: it is
/// only looked at, once, without a stack.
pub(super) fn is_deeper(json: &str, most: usize) -> bool {
    // Without that many brackets there is nothing to count.
    if json.len() <= most {
        return false;
    }
    let mut depth = 0_usize;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

/// Goes on behind the quote that ends a string.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        "[".repeat(levels) + &"]".repeat(levels)
    }

    #[test]
    fn the_limit_itself_is_allowed_and_one_more_is_not() {
        for most in [0, 1, 2, 64] {
            assert!(!is_deeper(&nested(most), most), "{most}");
            assert!(is_deeper(&nested(most + 1), most), "{most}");
        }
    }

    #[test]
    fn neighbours_are_not_deeper_than_one_alone() {
        let json = format!("[{}]", vec![nested(3); 100].join(","));
        assert!(!is_deeper(&json, 4));
        assert!(is_deeper(&json, 3));
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert!(!is_deeper(r#"["[[[[[[[[", "a\"[[[[[[[[", "\\"]"#, 1));
        assert!(is_deeper(r#"["\\", [[1]]]"#, 2));
    }

    #[test]
    fn what_is_no_json_is_only_looked_at() {
        assert!(!is_deeper("]]]]]]]]]]]]]]", 3));
        assert!(!is_deeper("\"[[[[[[[[[[", 3));
        assert!(!is_deeper("\"\\", 0));
    }
}
