//! The processes' part of the demo: a ring, a desk with a crowd, calls, state machines, and a
//! supervised team whose members die.

use std::time::Duration;

use shiftwork::process::{
    Addr, Backoff, ChildSpec, Context, Event, MailboxKind, Payload, Process, ProcessError,
    Processes, Reply, SpawnError, StepOutput, Supervisor, SupervisorError,
};

use super::{
    part::{DELIBERATE, Part, Stage, Tally},
    strands::work,
};

pub(crate) fn start(stage: &Stage) -> Result<Vec<Part>, SupervisorError> {
    Ok(vec![ring(stage)?, desk(stage)?, calls(stage)?, metronomes(stage)?, team(stage)?])
}

enum Ring {
    Next(Addr<Ring>),
    /// A token with so many hops left before it rests.
    Token(u32),
}

/// Processes in a circle that pass a token on, without a queue between them.
fn ring(stage: &Stage) -> Result<Part, SpawnError> {
    const MEMBERS: usize = 100;
    const HOPS: u32 = 5_000;
    const REST: Duration = Duration::from_millis(20);
    let (part, tally) = Part::new("ring of 100 processes", "hops");
    let mut members = Vec::new();
    for n in 0..MEMBERS {
        let tally = tally.clone();
        let member = move |mut ctx: Context<Ring>| async move {
            let mut next = ctx.addr();
            while let Some(message) = ctx.receive().await {
                match message {
                    Ring::Next(addr) => next = addr,
                    Ring::Token(0) => {
                        if let Ok(timer) = ctx.addr().send_after(REST, Ring::Token(HOPS)) {
                            timer.detach();
                        }
                    }
                    Ring::Token(hops) => {
                        tally.add(1);
                        let _ = next.hand_off(Ring::Token(hops - 1));
                    }
                }
            }
        };
        members.push(stage.handle.process().name(format!("ring {n}")).spawn(member)?);
    }
    for (n, member) in members.iter().enumerate() {
        let _ = member.send(Ring::Next(members[(n + 1) % MEMBERS].clone()));
    }
    let _ = members[0].send(Ring::Token(HOPS));
    Ok(part.with_messages(1))
}

/// A crowd comes to a desk all at once: the mailbox fills up, and those who come late wait.
fn desk(stage: &Stage) -> Result<Part, SpawnError> {
    const CROWD: u32 = 1_000;
    const ROOM: usize = 256;
    let (part, tally) = Part::new("a crowd at a desk for 256", "slips");
    let clerk = move |mut ctx: Context<u32>| async move {
        while let Some(_slip) = ctx.receive().await {
            work(50);
            tally.add(1);
        }
    };
    let desk = stage.handle.process().name("desk").mailbox(MailboxKind::Bounded(ROOM));
    let desk = desk.spawn(clerk)?;
    stage.handle.process().name("crowd").spawn(move |ctx: Context<()>| async move {
        while !ctx.is_cancelled() {
            for slip in 0..CROWD {
                if desk.send_wait(slip).await.is_err() {
                    return;
                }
            }
            ctx.sleep(Duration::from_millis(300)).await;
        }
    })?;
    Ok(part.with_messages(1))
}

/// A thousand processes that mostly wait, and one who asks each of them in turn.
fn calls(stage: &Stage) -> Result<Part, SpawnError> {
    const COUNT: usize = 1_000;
    let (part, tally) = Part::new("1,000 processes that answer", "calls");
    let answer = |mut ctx: Context<Reply<u64>>| async move {
        let mut asked = 0;
        while let Some(reply) = ctx.receive().await {
            asked += 1;
            let _ = reply.send(asked);
        }
    };
    let all = (0..COUNT).map(|_| stage.handle.spawn_process(answer));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    stage.handle.process().name("caller").spawn(move |ctx: Context<()>| async move {
        while !ctx.is_cancelled() {
            for addr in &all {
                match addr.call(|reply| reply).await {
                    Ok(_) => tally.add(1),
                    Err(_) => return,
                }
            }
            ctx.sleep(Duration::from_millis(50)).await;
        }
    })?;
    Ok(part.with_messages(2))
}

/// A process as a state machine: it yields for a timer, and is blocked until that is done.
struct Metronome {
    beats: Tally,
    period: Duration,
}

impl Process for Metronome {
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError> {
        const BEAT: u64 = 1;
        for event in events.drain(..) {
            match event {
                Event::Completed { tag: BEAT, .. } => self.beats.add(1),
                Event::Cancel => {
                    out.done();
                    return Ok(());
                }
                _ => {}
            }
        }
        out.sleep(BEAT, self.period);
        out.blocked();
        Ok(())
    }
}

fn metronomes(stage: &Stage) -> Result<Part, SpawnError> {
    const COUNT: u64 = 10;
    let (part, tally) = Part::new("10 metronomes", "beats");
    for n in 0..COUNT {
        let metronome = Metronome { beats: tally.clone(), period: Duration::from_millis(10 + n) };
        let builder = stage.handle.process().name(format!("metronome {n}"));
        builder.start(metronome, "main", Payload::Empty)?;
    }
    Ok(part)
}

/// Members that die now and then, and the supervisor that starts them again.
fn team(stage: &Stage) -> Result<Part, SupervisorError> {
    const MEMBERS: u64 = 5;
    let (part, tally) = Part::new("a supervised team of 5", "starts");
    let members = (0..MEMBERS).map(|n| {
        let (tally, life) = (tally.clone(), Duration::from_millis(500 + 100 * n));
        let member = move |mut ctx: Context<()>| async move {
            tally.add(1);
            // Nobody writes: this is over when its time is, or when it is asked to end.
            if ctx.receive_within(life).await.is_err() {
                std::panic::panic_any(DELIBERATE);
            }
        };
        let name = format!("member {n}");
        ChildSpec::new(name.as_str(), member).name(name)
    });
    let (first, max) = (Duration::from_millis(100), Duration::from_millis(400));
    Supervisor::one_for_one()
        .name("team")
        .children(members)
        .backoff(Backoff { first, max, ..Backoff::default() })
        .unlimited_restarts()
        .spawn(&stage.handle)?;
    Ok(part)
}
