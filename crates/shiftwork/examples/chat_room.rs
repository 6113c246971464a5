//! A chat room in which everyone is a process, and a user who crashes takes nobody along.
//!
//! ```text
//!   ada ──Post──►         ┌──Hear──► ada
//!   bob ──Post──►  lobby ─┼──Hear──► bob
//!   cyd ──Post──►         └──Hear──► cyd
//! ```
//!
//! The room monitors its users: whoever goes, and however, the others are told. A user who is too
//! slow to read loses the oldest lines, and never holds up the room.
//!
//! ```text
//! cargo run --example chat_room
//! ```

use std::{collections::BTreeMap, error::Error, sync::Arc};

use shiftwork::{
    Runtime,
    process::{
        Addr, CallError, Context, Event, MailboxKind, Pid, Processes, Reply, STOP_TIMEOUT, block_on,
    },
};

const LOBBY: &str = "lobby";
/// Everyone who is connected, in whatever room.
const ONLINE: &str = "online";

enum Room {
    Join {
        name: String,
        user: Addr<User>,
        done: Reply<()>,
    },
    /// The reply says how many have heard it.
    Post {
        from: Pid,
        text: String,
        heard: Reply<usize>,
    },
}

enum User {
    /// A line from the keyboard. The right to answer goes on to the room, which knows the answer.
    Type(String, Reply<usize>),
    /// A line for the screen.
    Hear(Arc<str>),
    /// What is on the screen?
    Look(Reply<Vec<Arc<str>>>),
}

async fn room(mut ctx: Context<Room>) {
    let mut users = BTreeMap::new();
    loop {
        match ctx.event().await {
            Event::Message(Room::Join { name, user, done }) => {
                ctx.monitor(user.pid());
                tell_all(&users, &format!("* {name} comes in"));
                users.insert(user.pid(), (name, user));
                let _ = done.send(());
            }
            Event::Message(Room::Post { from, text, heard }) => {
                let Some((name, _)) = users.get(&from) else { continue };
                let _ = heard.send(tell_all(&users, &format!("{name}: {text}")));
            }
            Event::Down { pid, reason, .. } => {
                let Some((name, _)) = users.remove(&pid) else { continue };
                tell_all(&users, &format!("* {name} is gone ({reason})"));
            }
            Event::Cancel => return,
            _ => {}
        }
    }
}

/// How many could be told. Those who have just gone are about to be announced.
fn tell_all(users: &BTreeMap<Pid, (String, Addr<User>)>, line: &str) -> usize {
    let line: Arc<str> = line.into();
    users.values().filter(|(_, user)| user.send(User::Hear(line.clone())).is_ok()).count()
}

async fn user(mut ctx: Context<User>, name: String) -> Result<(), CallError> {
    ctx.join_group(ONLINE);
    // Whoever knows the name of a process needs no address of it.
    let lobby = ctx.runtime().named(LOBBY).and_then(|pid| ctx.runtime().find::<Room>(pid));
    let lobby = lobby.ok_or(CallError::Unknown)?;
    lobby.call(|done| Room::Join { name, user: ctx.addr(), done }).await?;

    let mut screen = Vec::new();
    while let Some(message) = ctx.receive().await {
        match message {
            User::Type(line, _) if line == "/quit" => break,
            User::Type(line, heard) => {
                let text = match line.strip_prefix("/roll ") {
                    Some(sides) => roll(sides.parse().unwrap_or(6)),
                    None => line,
                };
                let _ = lobby.send(Room::Post { from: ctx.pid(), text, heard });
            }
            User::Hear(line) => screen.push(line),
            User::Look(reply) => drop(reply.send(screen.clone())),
        }
    }
    Ok(())
}

/// Throws a die. There is a mistake in it, and somebody will find it.
fn roll(sides: u32) -> String {
    format!("rolls {}", 1 + 4_000_000_007_u32 % sides)
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    runtime.process().name(LOBBY).spawn(room)?;

    let mut users = BTreeMap::new();
    for name in ["ada", "bob", "cyd"] {
        let mailbox = MailboxKind::DropOldest(100);
        let start = move |ctx| user(ctx, name.to_owned());
        let addr = runtime.process().name(name).mailbox(mailbox).spawn(start)?;
        // The first answer comes when it is in the room.
        block_on(addr.call(User::Look))?;
        users.insert(name, addr);
    }

    for (name, line) in [
        ("ada", "hello, everyone"),
        ("cyd", "shall we play? /roll six"),
        ("bob", "/roll 20"),
        ("cyd", "/roll 0"),
        ("ada", "did anybody see that?"),
        ("bob", "/quit"),
        ("ada", "good night, bob"),
    ] {
        match block_on(users[name].call(|heard| User::Type(line.to_owned(), heard))) {
            Ok(heard) => println!("{name} types {line:?}, and {heard} hear it"),
            // Whoever exits drops the requests it has; its callers are told, and wait no longer.
            Err(_) => {
                println!("{name} types {line:?}, and exits: {}", block_on(users[name].exited()))
            }
        }
    }

    for pid in runtime.group(ONLINE) {
        runtime.send_to(pid, User::Hear("* the server goes down".into()))?;
    }
    println!("\nOn ada's screen:");
    for line in block_on(users["ada"].call(User::Look))? {
        println!("  {line}");
    }
    let report = block_on(runtime.stop_processes(STOP_TIMEOUT));
    println!("\n{} processes were left, and ended in good order", report.orderly);
    runtime.shutdown();
    Ok(())
}
