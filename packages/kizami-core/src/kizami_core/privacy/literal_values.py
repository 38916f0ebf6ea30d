"""Is the value beside a secret name the secret itself, or code, a reference, a placeholder, a word of prose?

``password: hunter2`` holds a secret; ``password: string``, ``token = await getToken()``, ``secret:
${SECRET}`` and ``api_key=your-key-here`` don't.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from kizami_core.privacy.secret_names import Kind

    # How sure the surroundings make it that text without quotes is data:
    # "assigned"  KEY=value without spaces, a command-line option, a query parameter: any word is a value
    # "line"      the value is all that follows on its line (YAML, ini, a person's note)
    # "inline"    anything else: code and prose are more likely than data
    Setting = Literal["assigned", "line", "inline"]

# Values that stand for another value: the whole of it, or a part that a program fills in.
_REFERENCE = (
    r"\$[A-Za-z_][\w:.]*|\$\(.*|\$\{.*|\{.*\}|%\w+%|%\(?\w*\)?[sdrv]|<.*>|\[[\w .:-]+\]|@[\w.]+@|:[a-z_]\w*"
    r"|[&*][a-z_]\w*|!(?:[A-Z][A-Za-z]+|reference|secret|env|vault)\b.*|\\.*|-{1,2}[a-z][a-z-]*"
)
_INTERPOLATION = (
    r"\$\{|#\{|\{\{|\$\(|(?:\A|[\s\"':/@=])\$[A-Z_]{3,}\b|<[a-z][a-z_ -]*>|%(?:\(\w+\))?[sdrv](?![A-Za-z0-9])"
)
_PLACEHOLDER = (
    r"[x•_]{3,}|.*x{4,}.*|.*\*{3,}.*|.*\.{3}.*|.*….*|your[-_ ].*|your\w*(?:key|token|secret|password|here)"
    r"|(?:insert|paste|enter)[-_ ].*|.*[-_ ]here|change[-_]?(?:me|this|it)\w*|redacted|todo|tbd|fixme"
)
# Types, keywords, and what is said about secrets.
_NO_VALUES = frozenset(
    """
    any array bigint bool boolean buffer byte bytes char dict double field fields float int integer list
    map name names never none nil null number object secretstr str string symbol text undefined unknown
    uuid value values varchar void async await class const dyn else enum extends false final function if
    impl interface keyof lambda let mut new not or and private protected public readonly ref return self
    static struct super this true type typeof var argon2 basic bcrypt bearer jwt ldap oauth pbkdf2 rsa
    saml scrypt
    absent accepted auto default disabled empty enabled encrypted env environment expired found
    generated hashed hidden include inherit input invalid missing no off ok omit on optional output
    plaintext present prompt refreshed rejected required revoked rotated same sensitive set unset valid
    yes
    a an are as be been by can credentials flag flags for from get in is it its may must of option
    options argument arguments args parameter parameters see should that the to use using was when where
    which will with
    """.split()
)
_SAYS_WHOSE = (
    r"(?:my|new|old|user|db|the|your|our|access|auth|api|client|raw|hashed|current|bearer|refresh|login"
    r"|admin|_|-)*"
)
_OWN_NAME = (
    rf"{_SAYS_WHOSE}(?:password|passwd|passphrase|passcode|pass|pwd|pw|secret|token|key)s?{_SAYS_WHOSE}\d?"
)
_ENVIRONMENT_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
_TYPE_NAME = r"(?:\w+\.)*(?:[A-Z]\w*)?(?:Token|Key|Secret|Password|Credentials?|Marker)s?"
_ALGORITHM = (
    r"(?:sha|md|base|utf|oauth|aes|rsa|hs|rs|es|ps|ed|u?int|float|ec|http|argon)[-_]?v?\d{1,5}"
    r"(?:url|mb4|[-_.][a-z0-9.]{0,12})?|[a-z]\d{1,3}(?:\.\d+)*|k8s"
)
_FILE_OR_URL = (
    r"(?:~|\.{1,2})?/(?:[a-z0-9_.@-]+/)+[\w.@-]*|(?:~|\.{1,2})/.*|[A-Za-z]:[\\/].*"
    r"|[\w-]+(?:/[\w.-]+)*\.(?:pem|key|txt|json|ya?ml|toml|crt|cer|p8|p12|env|[mc]?[jt]sx?|py|rs|go|java|rb|php"
    r"|sh|md|html?|css|sql)(?::\d.*)?|[a-z][a-z0-9+.-]{1,15}://.*|(?:arn|file|vault|ref|urn):.*"
)
_REGULAR_EXPRESSION = r"\\[wsdSWDb]|\[\^|\(\?:|\][+*{]"
_DOTTED_NAMES = r"[A-Za-z_$][\w$]*(?:(?:\?\.|!\.|\.|->|::|\?\?|\|\|)[A-Za-z_$][\w$]*)+[!?]?"
_CALL = r"[A-Za-z_$][\w$.?:]*(?:\(.*\)?|[\[<{].*[\]>}])[;.!?]?(?:\..*)?"
# A word in lower case, or with a sign that no name has: camelCase, PascalCase and snake_case name variables.
_PLAIN_WORD = r"[a-z]{6,}|(?=.{6,})[a-z]+(?:-[a-z]+)+|.*[!@#$%^&*~+=?].*"
_MANY_DIGITS = 3
_SHORTEST_NUMBER = 4


def stands_for_another(value: str) -> bool:
    """Tell whether ``value`` is a reference, a template, a placeholder or nothing at all."""
    return (
        not any(character.isalnum() for character in value)
        or _fully(_REFERENCE, value)
        or re.search(_INTERPOLATION, value) is not None
        or _fully(_PLACEHOLDER, value, re.IGNORECASE)
    )


def is_mixed(value: str) -> bool:
    """Tell whether ``value`` holds both letters and digits, as no word does."""
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


def is_quoted_secret(value: str, kind: Kind) -> bool:
    """Tell whether a quoted text, given without its quotes, is a secret."""
    if _is_no_value(value) or re.search(_REGULAR_EXPRESSION, value):
        return False
    if kind == "password":
        return True
    # accesskey="p" in HTML, token = "e" in a lexer; "GITHUB_TOKEN" and "nextToken" name what holds the value.
    is_letter = kind in {"token", "key"} and len(value) == 1
    is_name = (
        _fully(_OWN_NAME, value, re.IGNORECASE)
        or _fully(_ENVIRONMENT_NAME, value)
        or (value.isalpha() and value.endswith(("Token", "Key", "Secret", "Marker")))
    )
    return not is_letter and not is_name


def is_unquoted_secret(value: str, following: str, kind: Kind, setting: Setting) -> bool:
    """Tell whether a run without quotes is a secret; ``following`` is what comes right after it."""
    if _is_no_value(value) or following[:1] in {"(", "[", "{", "<"} or _fully(_CALL, value):
        return False
    if _fully(_ALGORITHM, value, re.IGNORECASE):
        return False
    digits = sum(sign.isdigit() for sign in value)
    if not any(sign.isalpha() for sign in value):
        return kind == "password" and digits >= _SHORTEST_NUMBER and _fully(r"[\d-]+", value)
    if _fully(_DOTTED_NAMES, value):
        return digits >= _MANY_DIGITS and not _fully(_TYPE_NAME, value)
    is_own_name = _fully(_OWN_NAME, value, re.IGNORECASE)
    if setting == "assigned":
        return not is_own_name or (kind == "password" and not value.isupper())
    if is_own_name or _fully(_TYPE_NAME, value):
        return False
    return digits > 0 or (setting == "line" and _fully(_PLAIN_WORD, value))


def _is_no_value(value: str) -> bool:
    return stands_for_another(value) or value.lower() in _NO_VALUES or _fully(_FILE_OR_URL, value)


def _fully(pattern: str, value: str, flags: int = 0) -> bool:
    return re.compile(pattern, flags | re.DOTALL).fullmatch(value) is not None
