//! Does the finder see every site, and nothing else?

use super::*;

fn sites(text: &str) -> Vec<Site> {
    find(Path::new("src/sample.rs"), text).unwrap()
}

/// Each site as `function: text in the source`.
fn check(text: &str, expect: &[&str]) {
    let found: Vec<String> = sites(text)
        .iter()
        .map(|site| format!("{}: {}", site.function, &text[site.range.clone()]))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn orderings_in_calls_and_tuples_are_sites() {
    check(
        "fn begin(&self) { self.0.swap(RUNNING, Acquire); }
         fn step(&self) { match x { IDLE => (word, Ordering::Release, Duty::Push), } }",
        &["begin: Acquire", "step: Ordering::Release"],
    );
}

#[test]
fn a_whole_path_is_replaced() {
    check(
        "fn f() { a.load(atomic::Ordering::Acquire); b.load(crate::sync::atomic::Ordering::AcqRel) }",
        &["f: atomic::Ordering::Acquire", "f: crate::sync::atomic::Ordering::AcqRel"],
    );
}

#[test]
fn imports_comments_strings_and_attributes_are_not_sites() {
    check(
        r#"//! Release, then Acquire.
           use crate::sync::atomic::{AtomicU64, Ordering::{Acquire, Relaxed, Release}, fence};
           #[doc = "Acquire"]
           /// fence(SeqCst)
           fn f() {
               use super::Ordering::AcqRel;
               // a.load(Acquire)
               let said = "Release";
           }"#,
        &[],
    );
}

#[test]
fn tests_and_models_in_the_same_file_are_not_sites() {
    check(
        "fn f() { a.load(Acquire) }
         #[cfg(test)] mod tests { fn g() { a.load(Acquire) } }
         #[cfg(all(test, loom))] mod models { fn g() { fence(SeqCst) } }
         mod models;
         fn h() { a.store(1, Release) }",
        &["f: Acquire", "h: Release"],
    );
}

#[test]
fn variants_and_patterns_of_other_types_are_not_sites() {
    check(
        "enum Lock { Acquire, Release }
         fn f(lock: Lock) { match lock { Lock::Acquire => g(Lock::Release), Release => {} } }
         fn g() { Release(1); Acquire::new() }",
        &[],
    );
}

#[test]
fn a_fence_is_one_site_with_its_argument() {
    let text = "fn place() { atomic::fence(Ordering::SeqCst); fence(Acquire); }";
    check(text, &["place: atomic::fence(Ordering::SeqCst)", "place: fence(Acquire)"]);
    let sites = sites(text);
    assert_eq!(sites[0].kind.weaker(), ["nothing", "AcqRel"]);
    assert_eq!(sites[1].kind.weaker(), ["nothing"]);
}

#[test]
fn acqrel_is_weakened_to_either_half() {
    let found = sites("fn f() { a.swap(1, AcqRel) }");
    assert_eq!(found[0].kind.weaker(), ["Acquire", "Release"]);
}

#[test]
fn orderings_inside_macros_are_sites() {
    check("fn f() { assert_eq!(a.load(Acquire), 1); }", &["f: Acquire"]);
}

#[test]
fn nested_functions_name_the_inner_one() {
    check(
        "impl A { fn outer(&self) -> impl Fn() + use<'_> { fn inner() { x(Acquire) } x(Release) } }",
        &["inner: Acquire", "outer: Release"],
    );
}

#[test]
fn an_excuse_stands_on_the_same_line_or_above() {
    let found = sites(
        "fn f() {
             a.load(Acquire); // weaken: orders only the freeing
             // weaken: likewise
             b.load(Acquire);
             c.load(Acquire); // an ordinary remark
         }",
    );
    let excuses: Vec<_> = found.iter().map(|site| site.excuse.as_deref()).collect();
    assert_eq!(excuses, [Some("orders only the freeing"), Some("likewise"), None]);
    assert_eq!(found[0].snippet, "a.load(Acquire);");
    assert_eq!(found[0].line, 2);
}

#[test]
fn a_seqcst_access_and_an_ordering_in_a_constant_are_refused() {
    let refused = |text| find(Path::new("a.rs"), text).unwrap_err().to_string();
    assert!(refused("fn f() { a.load(SeqCst) }").contains("SeqCst access"));
    assert!(refused("const ORDER: Ordering = Acquire;").contains("outside a function"));
}

#[test]
fn test_files_are_known_by_name() {
    assert!(is_test_file(Path::new("src/queue/tests.rs")));
    assert!(is_test_file(Path::new("src/queue/models.rs")));
    assert!(is_test_file(Path::new("src/queue/model_deque.rs")));
    assert!(is_test_file(Path::new("src/idle_models.rs")));
    assert!(!is_test_file(Path::new("src/queue/mod.rs")));
}
