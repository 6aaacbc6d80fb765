//! The pose stream: a WebSocket that only this machine can reach.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use serde_json::json;
use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message as Frame, WebSocket};

use crate::message::{Message, Step, Vocabulary};

/// Bytes of a message at most: a few hundred matrices.
const LARGEST_MESSAGE: usize = 1 << 20;
/// Senders at the same time, at most.
const MOST_CONNECTIONS: usize = 16;
/// Messages that may wait for the next frame; whoever sends more waits.
const WAITING: usize = 256;
/// How long a client may take to introduce itself, and a picture to be written.
const HANDSHAKE: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_mins(1);

/// What a client asks for.
#[derive(Debug)]
pub struct Wish {
    /// in this order
    pub steps: Vec<Step>,
    /// takes one answer for each picture: written, or why not
    pub answer: Sender<Result<(), String>>,
}

/// A stream that listens, and what arrives.
#[derive(Debug)]
pub struct Stream {
    /// where it listens
    pub port: u16,
    /// what was sent
    pub wishes: Receiver<Wish>,
}

impl Stream {
    /// Listens on 127.0.0.1; port 0 is any that is free. `wake` is called after each wish.
    pub fn listen(
        port: u16,
        known: Vocabulary,
        wake: impl Fn() + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let (sender, wishes) = sync_channel(WAITING);
        let known = Arc::new(known);
        let open = Arc::new(AtomicUsize::new(0));
        std::thread::Builder::new().name("pose stream".into()).spawn(move || {
            for connection in listener.incoming().flatten() {
                if open.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                    open.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                let (known, sender, wake, open) = (known.clone(), sender.clone(), wake.clone(), open.clone());
                let started = std::thread::Builder::new().name("pose client".into()).spawn({
                    let open = open.clone();
                    move || {
                        // A client that fails or leaves is no error of ours.
                        let _ = serve(connection, &known, &sender, &wake);
                        open.fetch_sub(1, Ordering::SeqCst);
                    }
                });
                if started.is_err() {
                    open.fetch_sub(1, Ordering::SeqCst);
                }
            }
        })?;
        Ok(Self { port, wishes })
    }
}

/// Follows one client until it leaves.
fn serve(
    connection: TcpStream,
    known: &Vocabulary,
    sender: &SyncSender<Wish>,
    wake: &impl Fn(),
) -> tungstenite::Result<()> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(HANDSHAKE))?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    let Ok(mut socket) = tungstenite::accept_hdr_with_config(connection, from_this_machine, Some(config))
    else {
        return Ok(());
    };
    socket.get_ref().set_read_timeout(None)?;
    loop {
        match socket.read()? {
            Frame::Text(text) if !follow(&mut socket, text.as_str(), known, sender, wake)? => return Ok(()),
            Frame::Binary(_) => {
                socket.send(Frame::text(json!({ "error": "send text, not bytes" }).to_string()))?;
            }
            Frame::Close(_) => return Ok(()),
            _ => {}
        }
    }
}

/// Follows one message. Whether there is still a window.
fn follow(
    socket: &mut WebSocket<TcpStream>,
    text: &str,
    known: &Vocabulary,
    sender: &SyncSender<Wish>,
    wake: &impl Fn(),
) -> tungstenite::Result<bool> {
    let message = match Message::parse(text, known) {
        Ok(message) => message,
        Err(error) => {
            socket.send(Frame::text(json!({ "error": error.to_string() }).to_string()))?;
            return Ok(true);
        }
    };
    let picture = message.steps.iter().find_map(|step| match step {
        Step::Screenshot(path) => Some(path.clone()),
        _ => None,
    });
    let (answer, answers) = channel();
    if sender.send(Wish { steps: message.steps, answer }).is_err() {
        return Ok(false);
    }
    wake();
    if let Some(path) = picture {
        let reply = match answers.recv_timeout(ANSWER) {
            Ok(Ok(())) => json!({ "screenshot": path }),
            Ok(Err(problem)) => json!({ "error": problem }),
            Err(_) => json!({ "error": "the window did not draw; is it still open?" }),
        };
        socket.send(Frame::text(reply.to_string()))?;
    }
    Ok(true)
}

/// Browsers let any page connect to this machine and say which page it was: only local ones may.
#[expect(clippy::result_large_err, reason = "the form that the WebSocket library asks for")]
fn from_this_machine(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let origin = request.headers().get("origin").map(|origin| origin.to_str().unwrap_or("?"));
    if origin.is_none_or(is_local) {
        return Ok(response);
    }
    let mut refused = ErrorResponse::new(Some("pages of other machines may not pose the model".to_string()));
    *refused.status_mut() = tungstenite::http::StatusCode::FORBIDDEN;
    Err(refused)
}

fn is_local(origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use eigenskin_characters::square_bar;

    use super::*;

    fn stream() -> Stream {
        let known = Vocabulary { rig: square_bar().unwrap().rig, clips: vec![], examples: vec![] };
        Stream::listen(0, known, || {}).unwrap()
    }

    #[test]
    fn origins_of_this_machine_are_local() {
        for origin in ["http://localhost", "http://localhost:8000", "http://127.0.0.1:1", "https://[::1]:9"] {
            assert!(is_local(origin), "{origin}");
        }
        for origin in
            ["http://example.org", "http://localhost.example.org:80", "null", "http://127.0.0.1.evil:1"]
        {
            assert!(!is_local(origin), "{origin}");
        }
    }

    #[test]
    fn good_messages_arrive_and_bad_ones_are_answered() {
        let stream = stream();
        let (mut client, _) = tungstenite::connect(format!("ws://127.0.0.1:{}", stream.port)).unwrap();
        client.send(Frame::text("{\"joints\":{\"nose\":[0,0,0,1]}}")).unwrap();
        let answer = client.read().unwrap();
        assert!(answer.to_text().unwrap().contains("nose"), "{answer}");
        client.send(Frame::binary(vec![1u8])).unwrap();
        assert!(client.read().unwrap().to_text().unwrap().contains("error"));
        client.send(Frame::text("{\"wireframe\":true}")).unwrap();
        assert_eq!(stream.wishes.recv().unwrap().steps, [Step::Wireframe(true)]);
        client.send(Frame::text("{\"screenshot\":\"a.png\"}")).unwrap();
        stream.wishes.recv().unwrap().answer.send(Err("the disk is full".into())).unwrap();
        assert!(client.read().unwrap().to_text().unwrap().contains("the disk is full"));
    }

    #[test]
    fn pages_of_other_machines_are_refused() {
        use tungstenite::client::IntoClientRequest;
        let stream = stream();
        let mut request = format!("ws://127.0.0.1:{}", stream.port).into_client_request().unwrap();
        request.headers_mut().insert("origin", "http://example.org".parse().unwrap());
        assert!(tungstenite::connect(request).is_err());
    }

    #[test]
    fn messages_that_are_too_large_end_the_connection_only() {
        let stream = stream();
        let address = format!("ws://127.0.0.1:{}", stream.port);
        let (mut client, _) = tungstenite::connect(&address).unwrap();
        let _ = client.send(Frame::text(" ".repeat(LARGEST_MESSAGE + 1)));
        assert!(client.read().is_err());
        let (mut client, _) = tungstenite::connect(&address).unwrap();
        client.send(Frame::text("{\"reset\":true}")).unwrap();
        assert_eq!(stream.wishes.recv().unwrap().steps, [Step::Reset]);
    }
}
