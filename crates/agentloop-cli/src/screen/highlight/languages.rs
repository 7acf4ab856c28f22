//! The languages that are coloured.

/// What a lexer has to know about a language.
#[derive(Debug)]
pub(super) struct Language {
    /// The names that are used after a fence, with spaces between them.
    names: &'static str,
    pub(super) line_comments: &'static [&'static str],
    /// Comments and strings over several lines: their start, their end, and whether they are strings.
    pub(super) blocks: &'static [(&'static str, &'static str, bool)],
    /// The quotes of strings.
    pub(super) quotes: &'static str,
    /// The words that are coloured, with spaces between them.
    keywords: &'static str,
    ignores_case: bool,
}

const C_COMMENT: (&str, &str, bool) = ("/*", "*/", false);

const LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        line_comments: &["//"],
        blocks: &[C_COMMENT, ("r#\"", "\"#", true)],
        quotes: "\"",
        keywords: "\
            as async await break const continue crate dyn else enum extern false fn for if impl \
            in let loop match mod move mut pub ref return self Self static struct super trait \
            true type unsafe use where while",
        ignores_case: false,
    },
    Language {
        names: "python py python3 starlark",
        line_comments: &["#"],
        blocks: &[("\"\"\"", "\"\"\"", true), ("'''", "'''", true)],
        quotes: "\"'",
        keywords: "\
            and as assert async await break class continue def del elif else except False \
            finally for from global if import in is lambda match None nonlocal not or pass \
            raise return True try while with yield",
        ignores_case: false,
    },
    Language {
        names: "javascript js jsx typescript ts tsx mjs",
        line_comments: &["//"],
        blocks: &[C_COMMENT, ("`", "`", true)],
        quotes: "\"'",
        keywords: "\
            abstract any as async await boolean break case catch class const continue default \
            delete do else enum export extends false finally for from function if implements \
            import in instanceof interface let new null number of private protected public \
            readonly return static string super switch this throw true try type typeof \
            undefined var void while yield",
        ignores_case: false,
    },
    Language {
        names: "\
            c h cpp c++ cc hpp java csharp cs c# kotlin kt swift scala dart php objc zig proto \
            protobuf groovy gradle",
        line_comments: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "\
            abstract as auto bool boolean break case catch char class const constexpr continue \
            default defer delete do double echo else enum extends extern false final finally \
            float fn for foreach fun func function guard if implements import in include inline \
            int interface internal is let long message namespace new nil null nullptr object \
            override package private protected public return service short signed sizeof static \
            string struct super switch template this throw throws true try typedef typename \
            union unsigned use using val var virtual void when while",
        ignores_case: false,
    },
    Language {
        names: "go golang",
        line_comments: &["//"],
        blocks: &[C_COMMENT, ("`", "`", true)],
        quotes: "\"'",
        keywords: "\
            break case chan const continue default defer else fallthrough false for func go \
            goto if import interface map nil package range return select struct switch true \
            type var",
        ignores_case: false,
    },
    Language {
        names: "bash sh shell zsh fish console dockerfile docker makefile make powershell ps1",
        line_comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "\
            ADD alias break case cd CMD COPY do done echo elif else ENTRYPOINT ENV esac exit \
            export EXPOSE fi for FROM function if in local return RUN set source then unset \
            until USER while WORKDIR",
        ignores_case: false,
    },
    Language {
        names: "sql postgresql mysql sqlite plsql",
        line_comments: &["--"],
        blocks: &[C_COMMENT],
        quotes: "'\"",
        keywords: "\
            add all alter and as asc between by case create default delete desc distinct drop \
            else end exists foreign from full group having in index inner insert into is join \
            key left like limit not null offset on or order outer over partition primary \
            references returning right select set table then union unique update using values \
            view when where with",
        ignores_case: true,
    },
    Language {
        names: "json jsonc json5 jsonl",
        line_comments: &["//"],
        blocks: &[C_COMMENT],
        quotes: "\"",
        keywords: "true false null",
        ignores_case: false,
    },
    Language {
        names: "yaml yml toml ini conf properties env hcl terraform tf",
        line_comments: &["#", ";"],
        blocks: &[("\"\"\"", "\"\"\"", true)],
        quotes: "\"'",
        keywords: "true false null yes no on off",
        ignores_case: true,
    },
    Language {
        names: "ruby rb elixir ex exs perl pl r julia jl crystal nim",
        line_comments: &["#"],
        blocks: &[],
        quotes: "\"'",
        keywords: "\
            alias and begin break case class def defmodule defp do else elsif end ensure false \
            fn for foreach function if in module my next nil not or our raise require rescue \
            return self sub super then true unless until use when while yield",
        ignores_case: false,
    },
    Language {
        names: "lua haskell hs elm ada",
        line_comments: &["--"],
        blocks: &[("{-", "-}", false), ("[[", "]]", true)],
        quotes: "\"",
        keywords: "\
            and break case class data do else elseif end false for function if import in \
            instance let local module newtype nil not of or repeat return then true type until \
            where while",
        ignores_case: false,
    },
    Language {
        names: "html xml svg vue svelte",
        line_comments: &[],
        blocks: &[("<!--", "-->", false)],
        quotes: "\"",
        keywords: "",
        ignores_case: false,
    },
    Language {
        names: "css scss less",
        line_comments: &[],
        blocks: &[C_COMMENT],
        quotes: "\"'",
        keywords: "important import media keyframes include mixin extend",
        ignores_case: false,
    },
];

impl Language {
    /// Finds a language by one of its names, in lower case.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| language.names.split(' ').any(|known| known == name))
    }

    pub(super) fn is_keyword(&self, word: &str) -> bool {
        self.keywords.split(' ').any(|keyword| {
            keyword == word || (self.ignores_case && keyword.eq_ignore_ascii_case(word))
        })
    }
}
