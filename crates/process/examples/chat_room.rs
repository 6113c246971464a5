//! A chat room: guests join, speak, leave, and may simply disappear.
//!
//! The room is a process, and so is every guest. The room monitors its guests, so that one who
//! fails is noticed like one who says good-bye.

use std::collections::BTreeMap;

use kernel::Runtime;
use process::{Addr, Context, Event, Pid, Processes, Reply, block_on};

enum Room {
    Join(String, Addr<Word>),
    Say(Pid, String),
    Guests(Reply<Vec<String>>),
}

struct Word {
    from: String,
    text: String,
}

/// The life of the room: it ends when the last guest has left.
async fn room(mut ctx: Context<Room>) {
    let mut guests: BTreeMap<Pid, (String, Addr<Word>)> = BTreeMap::new();
    loop {
        match ctx.event().await {
            Event::Message(Room::Join(name, addr)) => {
                ctx.monitor(addr.pid());
                guests.insert(addr.pid(), (name, addr));
            }
            Event::Message(Room::Say(pid, text)) => {
                let Some((from, _)) = guests.get(&pid).cloned() else { continue };
                for (name, guest) in guests.values().filter(|(name, _)| *name != from) {
                    let word = Word { from: from.clone(), text: text.clone() };
                    if guest.send(word).is_err() {
                        println!("({name} does not listen)");
                    }
                }
            }
            Event::Message(Room::Guests(reply)) => {
                let names = guests.values().map(|(name, _)| name.clone()).collect();
                let _ = reply.send(names);
            }
            Event::Down { pid, reason, .. } => {
                if let Some((name, _)) = guests.remove(&pid) {
                    println!("{name} has left ({reason})");
                }
                if guests.is_empty() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// A guest says something, and listens to so many words of others.
async fn guest(mut ctx: Context<Word>, name: &'static str, room: Addr<Room>, words: usize) {
    let text = format!("hello, I am {name}");
    room.send_wait(Room::Say(ctx.pid(), text)).await.ok();
    for _ in 0..words {
        let Some(Word { from, text }) = ctx.receive().await else { return };
        println!("{name} hears {from}: {text}");
        assert!(name != "Mallory", "I hear voices");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::builder().on_report(|_| {}).build()?;
    let lobby = runtime.process().name("lobby").spawn(room)?;
    // All join before anyone speaks.
    let mut doors = Vec::new();
    for name in ["Ada", "Grace", "Mallory"] {
        let room = lobby.clone();
        let guest = runtime.spawn_process(move |mut ctx: Context<Word>| async move {
            ctx.receive().await; // the door opens
            guest(ctx, name, room, 2).await;
        })?;
        lobby.send(Room::Join(name.to_owned(), guest.clone()))?;
        doors.push(guest);
    }
    println!("in the lobby: {:?}", block_on(lobby.call(Room::Guests))?);
    for door in &doors {
        door.send(Word { from: String::new(), text: String::new() })?;
    }
    println!("the lobby closes: {}", block_on(lobby.exited()));
    Ok(())
}
