//! How one binary can run with any single ordering weakened.
//!
//! Every site is replaced by a call that looks at `SHIFTWORK_WEAKEN` ("17=Relaxed": site 17 shall
//! be Relaxed) and otherwise does what the source said. So the models are compiled once, and each
//! change costs a run instead of a build. `SHIFTWORK_WEAKEN_REACHED` names a file that receives
//! the number of each site that a run has come by.

use super::sites::{Kind, Site};

/// Names the site and what it shall be.
pub(crate) const CHOICE: &str = "SHIFTWORK_WEAKEN";
/// Names the file for the sites that were reached.
pub(crate) const REACHED: &str = "SHIFTWORK_WEAKEN_REACHED";

/// The text with each site replaced. The sites are those of this text, with their numbers.
pub(crate) fn instrument(text: &str, sites: &[(usize, &Site)]) -> String {
    let mut text = text.to_owned();
    let mut sites = sites.to_vec();
    // From the end, so that earlier ranges stay true.
    sites.sort_by_key(|(_, site)| std::cmp::Reverse(site.range.start));
    for (number, site) in sites {
        let call = match &site.kind {
            Kind::Order(_) => {
                format!("crate::weakened::order({number}, {})", &text[site.range.clone()])
            }
            Kind::Fence(order) => format!("crate::weakened::fence({number}, {order})"),
        };
        text.replace_range(site.range.clone(), &call);
    }
    text
}

/// The module that the calls go to. It uses std's primitives, which the models do not watch.
pub(crate) fn module(sites: usize) -> String {
    HELPER.replace("SITES", &sites.to_string())
}

const HELPER: &str = r#"//! Which single ordering is weakened in this run?

use crate::sync::atomic::{self, Ordering};
use std::{env, fs::OpenOptions, io::Write, sync::OnceLock, sync::atomic::AtomicBool};

static REACHED: [AtomicBool; SITES] = [const { AtomicBool::new(false) }; SITES];

fn choice() -> &'static Option<(usize, String)> {
    static CHOICE: OnceLock<Option<(usize, String)>> = OnceLock::new();
    CHOICE.get_or_init(|| {
        let text = env::var("SHIFTWORK_WEAKEN").ok()?;
        let (site, weaker) = text.split_once('=').expect("SHIFTWORK_WEAKEN is SITE=ORDER");
        Some((site.parse().expect("a site is a number"), weaker.to_owned()))
    })
}

fn reach(site: usize) -> Option<&'static str> {
    if !REACHED[site].swap(true, Ordering::Relaxed) {
        if let Some(file) = env::var_os("SHIFTWORK_WEAKEN_REACHED") {
            let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
            file.write_all(format!("{site}\n").as_bytes()).unwrap();
        }
    }
    match choice() {
        Some((chosen, weaker)) if *chosen == site => Some(weaker),
        _ => None,
    }
}

pub(crate) fn order(site: usize, strong: Ordering) -> Ordering {
    match reach(site) {
        None => strong,
        Some("Relaxed") => Ordering::Relaxed,
        Some("Acquire") => Ordering::Acquire,
        Some("Release") => Ordering::Release,
        Some(other) => panic!("an access can not become {other}"),
    }
}

pub(crate) fn fence(site: usize, strong: Ordering) {
    match reach(site) {
        None => atomic::fence(strong),
        Some("nothing") => {}
        Some("AcqRel") => atomic::fence(Ordering::AcqRel),
        Some(other) => panic!("a fence can not become {other}"),
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::super::sites;
    use super::*;
    use std::path::Path;

    #[test]
    fn each_site_becomes_a_call_with_its_number() {
        let text = "use a::Ordering::Acquire;\n\
                    fn f() { x.swap(1, Ordering::AcqRel); atomic::fence(SeqCst); y.load(Acquire) }";
        let found = sites::find(Path::new("src/a.rs"), text).unwrap();
        let numbered: Vec<_> = found.iter().enumerate().map(|(n, site)| (n + 7, site)).collect();
        assert_eq!(
            instrument(text, &numbered),
            "use a::Ordering::Acquire;\n\
             fn f() { x.swap(1, crate::weakened::order(7, Ordering::AcqRel)); \
             crate::weakened::fence(8, SeqCst); y.load(crate::weakened::order(9, Acquire)) }"
        );
    }

    #[test]
    fn the_helper_reads_the_variables_that_we_set() {
        let helper = module(3);
        assert!(helper.contains(&format!("\"{CHOICE}\"")));
        assert!(helper.contains(&format!("\"{REACHED}\"")));
        assert!(helper.contains("[AtomicBool; 3]"));
    }
}
