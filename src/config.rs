//! Configuration: `[tool.pycgate]` in `pyproject.toml`, or `pycgate.toml`, which wins.
#![forbid(unsafe_code)]

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::fsys::path::real;
use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

/// How the sweep is kept from stale bytecode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// What can be stale is purged; the rest stays warm.
    #[default]
    Purge,
    /// The sweep also gets an empty bytecode prefix of its own, removed afterwards.
    Fresh,
}

/// What makes numba's machine code racy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numba {
    /// A change of its own module.
    #[default]
    Own,
    /// A change of any source: for functions that call functions of other modules.
    All,
}

/// What a configuration file can say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Globs, gitignore-like, of what is left out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Default of `gate --isolation`.
    pub isolation: Option<Isolation>,
    /// Default of `gate --base`.
    pub base: Option<String>,
    /// Bytecode prefixes, relative to the root.
    #[serde(default, deserialize_with = "one_or_many")]
    pub pycache_prefix: Vec<PathBuf>,
    /// What makes numba's machine code racy.
    #[serde(default)]
    pub numba: Numba,
    /// Whether a source that is rewritten with the same content makes the gate INCONCLUSIVE.
    #[serde(default)]
    pub strict: bool,
}

/// Every key there is.
const KEYS: [&str; 6] = [
    "exclude",
    "isolation",
    "base",
    "pycache-prefix",
    "numba",
    "strict",
];

fn one_or_many<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(PathBuf),
        Many(Vec<PathBuf>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(path) => vec![path],
        OneOrMany::Many(paths) => paths,
    })
}

#[derive(Deserialize)]
struct PyProject {
    tool: Option<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    pycgate: Option<Config>,
}

impl Config {
    /// Reads the configuration of the work tree at `root`, or the one file the user names.
    ///
    /// # Errors
    /// If the file cannot be read, is no TOML, has a key or value that is not known, or (but for a
    /// file the user names) names something outside the work tree. The message has file and line.
    pub fn load(root: &Path, named: Option<&Path>) -> Result<Self> {
        if let Some(path) = named {
            let text = read(path)
                .with_context(|| format!("cannot read the configuration {}", path.display()))?;
            let mut config = Self::parse(path, &text)?;
            let beside = path.parent().unwrap_or(Path::new(""));
            for prefix in &mut config.pycache_prefix {
                *prefix = std::path::absolute(beside.join(&*prefix))?;
            }
            return Ok(config);
        }
        for name in ["pycgate.toml", "pyproject.toml"] {
            let path = root.join(name);
            let text = match read(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error).with_context(|| {
                        format!("cannot read the configuration {}", path.display())
                    });
                }
            };
            if name == "pyproject.toml" && !text.contains("pycgate") {
                continue;
            }
            let mut config = Self::parse(&path, &text)?;
            config.confine(root, &path)?;
            return Ok(config);
        }
        Ok(Self::default())
    }

    /// Parses the text of a configuration file; its name tells which of the two forms it has.
    ///
    /// # Errors
    /// As [`Config::load`], without those of reading.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let parsed = if path
            .file_name()
            .is_some_and(|name| name == "pyproject.toml")
        {
            toml::from_str::<PyProject>(text)
                .map(|file| file.tool.and_then(|tool| tool.pycgate).unwrap_or_default())
        } else {
            toml::from_str::<Self>(text)
        };
        let config = parsed.map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            });
            let message = error.message();
            let unknown = message
                .strip_prefix("unknown field `")
                .and_then(|rest| rest.split('`').next());
            match unknown {
                Some(key) => anyhow!(
                    "{}:{line}: there is no key `{key}`{}",
                    path.display(),
                    did_you_mean(key, &KEYS)
                ),
                None => anyhow!("{}:{line}: {}", path.display(), message.replace('\n', " ")),
            }
        })?;
        for glob in &config.exclude {
            let line = text
                .lines()
                .position(|line| line.contains(glob.as_str()))
                .unwrap_or(0)
                + 1;
            crate::exclude::Exclude::new(&[glob])
                .with_context(|| format!("{}:{line}: `exclude`", path.display()))?;
        }
        Ok(config)
    }

    /// A repository's own configuration can never reach outside its work tree.
    fn confine(&mut self, root: &Path, file: &Path) -> Result<()> {
        for prefix in &mut self.pycache_prefix {
            let inside = prefix.is_relative()
                && prefix.components().all(|part| part != Component::ParentDir);
            let path = root.join(&*prefix);
            let real = real(&path).unwrap_or_else(|_| path.clone());
            if !inside || !real.starts_with(root) {
                bail!(
                    "{}: `pycache-prefix` names {}, which is outside the work tree: give it with --pycache-prefix",
                    file.display(),
                    prefix.display()
                );
            }
            *prefix = path;
        }
        Ok(())
    }
}

/// Largest configuration file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads a configuration file. A repository can have a link to a device or a FIFO in its place,
/// which would never end: only regular files are read, and `/dev/null`, which is empty.
fn read(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let data = std::fs::metadata(path)?;
    if !data.is_file() {
        if path == Path::new("/dev/null") {
            return Ok(String::new());
        }
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    if data.len() > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than 1 MiB",
        ));
    }
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(LARGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// `: did you mean `x`?` for the nearest of the names, or the names that there are.
pub fn did_you_mean(word: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|name| (strsim::jaro_winkler(word, name), name))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match nearest {
        Some((likeness, name)) if likeness > 0.7 => format!(": did you mean `{name}`?"),
        _ => format!("; there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, text: &str) -> String {
        format!(
            "{:#}",
            Config::parse(Path::new(name), text).expect_err("an error")
        )
    }

    #[test]
    fn both_forms_are_read() {
        let own = Config::parse(
            Path::new("pycgate.toml"),
            "exclude = ['a']\npycache-prefix = 'x'\nnumba = 'all'\n",
        );
        let own = own.expect("a configuration");
        assert_eq!(
            (own.exclude.as_slice(), own.numba),
            (&["a".to_owned()][..], Numba::All)
        );
        assert_eq!(own.pycache_prefix, [PathBuf::from("x")]);
        let text = "[project]\nname = 'x'\n[tool.pycgate]\nisolation = 'fresh'\nbase = 'main'\n";
        let shared = Config::parse(Path::new("pyproject.toml"), text).expect("a configuration");
        assert_eq!(
            (shared.isolation, shared.base.as_deref()),
            (Some(Isolation::Fresh), Some("main"))
        );
    }

    #[test]
    fn errors_name_file_line_and_the_nearest_key() {
        assert_eq!(
            error(
                "pyproject.toml",
                "[tool.pycgate]\nbase = 'x'\nexlude = []\n"
            ),
            "pyproject.toml:3: there is no key `exlude`: did you mean `exclude`?"
        );
        assert!(error("pycgate.toml", "a = \n").starts_with("pycgate.toml:1: "));
        assert!(error("pycgate.toml", "\nisolation = 'none'\n").contains("pycgate.toml:2: "));
        assert!(
            error("pycgate.toml", "\nexclude = ['a[']\n")
                .starts_with("pycgate.toml:2: `exclude`: `a[` is no glob")
        );
    }

    #[test]
    fn nothing_outside_is_reached() {
        let tree = tempfile::tempdir().expect("a directory");
        let root = real(tree.path()).expect("a real path");
        for prefix in ["/tmp", "../x", "a/../../x"] {
            std::fs::write(
                root.join("pycgate.toml"),
                format!("pycache-prefix = '{prefix}'\n"),
            )
            .expect("a file");
            let error = format!("{:#}", Config::load(&root, None).expect_err("an error"));
            assert!(error.contains("outside the work tree"), "{error}");
        }
        std::fs::write(root.join("pycgate.toml"), "pycache-prefix = '.cache'\n").expect("a file");
        assert_eq!(
            Config::load(&root, None).expect("fine").pycache_prefix,
            [root.join(".cache")]
        );
    }
}
