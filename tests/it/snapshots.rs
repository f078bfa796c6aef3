//! What people see: the help of every command, and what each says of one small tree, with colour and
//! without. `INSTA_UPDATE=always cargo test snapshots` takes what is seen for right.

use insta::assert_snapshot;

use crate::harness::{COMMANDS, Dir, TestCommand, interpreter};

fn seen(command: TestCommand, columns: &str, status: i32) -> String {
    let done = command.env("COLUMNS", columns).expect(status);
    format!("{}{}", done.stdout, done.stderr)
}

/// Times differ from run to run.
fn still(text: &str) -> String {
    let mut out = String::new();
    let mut words = text.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let bare = word.trim();
        let is_number = !bare.is_empty()
            && bare.chars().all(|c| c.is_ascii_digit() || c == '.')
            && bare.contains('.');
        let unit = words.peek().is_some_and(|next| {
            next.trim_end_matches([',', ';']).trim() == "s" || next.trim() == "ms"
        });
        if is_number && unit && bare != "2.00" {
            words.next();
            out.push_str("[time] ");
        } else {
            out.push_str(word);
        }
    }
    out
}

/// The tree that `shop.sh` makes, with the paths and the interpreter of this machine taken out of what is
/// said of it.
struct Shop(Dir);

impl Shop {
    fn new() -> Self {
        let dir = Dir::plain();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/shop.sh");
        dir.command("sh")
            .arg(script)
            .env("PYTHON", &interpreter::main().path)
            .ok();
        // The oracle: without pycgate the shop still charges the old rate.
        let total = dir.python(
            interpreter::main(),
            "import shop.cart; print(shop.cart.total(100))",
        );
        assert_eq!(total, "119");
        Self(dir)
    }

    /// What a command line says, as a terminal of that width shows it, and how it ends.
    fn says(&self, columns: &str, line: &[&str]) -> String {
        let done = self.0.pycgate(line).env("COLUMNS", columns).run();
        let text = format!("{}{}[exit {}]", done.stdout, done.stderr, done.status);
        let tag = &interpreter::main().tag;
        let text = text
            .replace(&self.0.root().display().to_string(), "[root]")
            .replace(tag.as_str(), "cpython-3X");
        still(&text)
    }

    /// The same for several, each under its command line.
    fn session(&self, lines: &[&[&str]]) -> String {
        let said = lines
            .iter()
            .map(|line| format!("$ pycgate {}\n{}", line.join(" "), self.says("80", line)));
        said.collect::<Vec<_>>().join("\n\n")
    }
}

#[test]
fn help() {
    let dir = Dir::plain();
    assert_snapshot!("help", seen(dir.pycgate(&["--help"]), "80", 0));
    assert_snapshot!("help_short", seen(dir.pycgate(&["-h"]), "80", 0));
    for command in COMMANDS {
        assert_snapshot!(
            format!("help_{command}"),
            seen(dir.pycgate(&[command, "--help"]), "80", 0)
        );
    }
}

#[test]
fn check() {
    let shop = Shop::new();
    assert_snapshot!(
        "check",
        shop.session(&[
            &["check"],
            &["check", "shop/tax.py"],
            &["check", "-q", "vendored"],
            &["check", "tests"],
            &["check", "shop/no_such.py"],
            &["check", "--format", "github"],
        ])
    );
    assert_snapshot!("check_all", shop.says("80", &["check", "--all-entries"]));
    assert_snapshot!(
        "check_color",
        shop.says("80", &["check", "--color", "always"])
    );
}

#[test]
fn gate() {
    let shop = Shop::new();
    assert_snapshot!(
        "gate_inconclusive",
        shop.session(&[&["gate", "--dry-run"], &["gate", "--", "true"],])
    );
    let vendored = shop.0.names("vendored/__pycache__").concat();
    let entry = format!("vendored/__pycache__/{vendored}");
    shop.0.git(&["rm", "-q", "--cached", &entry]);
    shop.0.git(&["commit", "-q", "-m", "No bytecode"]);
    assert_snapshot!(
        "gate",
        shop.session(&[
            &["gate", "-v", "--", "true"],
            &["gate", "--", "true"],
            &["gate", "--", "false"],
            &["gate", "-q", "--", "true"],
            &["gate", "-q", "--", "false"],
            &["gate"],
        ])
    );
    assert_snapshot!(
        "gate_color",
        shop.says("80", &["gate", "--color", "always", "--", "true"])
    );
}

#[test]
fn mistakes() {
    let dir = Dir::new();
    for (name, arguments, status) in [
        ("misspelt_command", &["gaet"][..], 2),
        ("misspelt_flag", &["gate", "--isolatoin", "fresh"], 125),
        (
            "misspelt_event",
            &["install", "--events", "post-chekout"],
            2,
        ),
        ("no_path", &["purge"], 2),
    ] {
        assert_snapshot!(name, seen(dir.pycgate(arguments), "80", status));
    }
    dir.write("pycgate.toml", "isolatoin = 'fresh'\n");
    let said = seen(dir.pycgate(&["gate"]), "80", 125);
    assert_snapshot!(
        "misspelt_key",
        said.replace(&dir.root().display().to_string(), "[root]")
    );
}
