//! What does a yield cost among a thousand, and a timer among a million?

use benches::{Args, Line, Tally, sizes, timers as clock};
use kernel::{Runtime, Step};

use crate::OURS;

/// Strands whose body returns `Step::Yield`.
pub(crate) fn strands(args: &Args, runtime: &Runtime) -> Line {
    let (strands, each) = (sizes::YIELDING, args.items(sizes::YIELDS_EACH));
    args.time_per_item(OURS, "ns/yield", strands * each, || {
        let done = Tally::leaked();
        for _ in 0..strands {
            let mut left = each;
            let body = move |_: &mut kernel::Turn<'_>| {
                if left == 0 {
                    done.add();
                    return Step::End(());
                }
                left -= 1;
                Step::Yield
            };
            runtime.strand().start(body).expect("the runtime runs");
        }
        done.wait_for(strands);
    })
}

/// Futures that await `yield_now`.
pub(crate) fn futures(args: &Args, runtime: &Runtime) -> Line {
    let (tasks, each) = (sizes::YIELDING, args.items(sizes::YIELDS_EACH));
    args.time_per_item(OURS, "ns/yield", tasks * each, || {
        let done = Tally::leaked();
        for _ in 0..tasks {
            let future = async move {
                for _ in 0..each {
                    kernel::yield_now().await;
                }
                done.add();
            };
            drop(runtime.spawn(future).expect("the runtime runs"));
        }
        done.wait_for(tasks);
    })
}

pub(crate) fn timers(args: &Args, runtime: &Runtime) -> Vec<Line> {
    let handle = runtime.handle();
    clock::measure(
        args,
        OURS,
        move |after| handle.sleep(after),
        |job| runtime.submit(move |_| job()).expect("the runtime runs"),
    )
}
