"""Every secret here is invented. Tokens are put together so that no scanner takes this file for a leak."""

import base64

import pytest

from kizami_core.privacy import secrets
from kizami_core.privacy.secrets import mask_secrets
from kizami_core.privacy.triggers import fold, may_hold_secret

M = secrets.SECRET_MARKER
A36 = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
HEX32 = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
UPPER16 = "Q3EGHIJK4LMNOP5R"
SLACK = "1234567890-" + "0987654321-" + A36[:24]
HOOK = "T00000000/B00000000/" + A36[:24]
JWT = ".".join(
    (
        "eyJ" + "hbGciOiJIUzI1NiJ9",
        "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0",
        "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    )
)
BASIC = base64.b64encode(b"alice:open sesame").decode()
PEM_LINES = "\n".join(("MIIEpAIBAAKCAQEA" + A36 + "wxyz0123",) * 3)
BEGIN, END = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"

# "§" stands for the secret in the text around it: (text, secret).
SECRETS = [
    # assignments: the specification's pattern and what it misses
    ("password=§", "hunter2"),
    ("password: §", "hunter2"),
    ("password = §", "hunter2secret"),
    ("PASSWORD=§", "correcthorse"),
    ("passwd=§", "hunter2"),
    ("DB_PASS=§", "hunter2"),
    ("DB_PASS=§", "letters"),
    ("SMTP_PASSWORD=§ is set", "Tr0ub4dor-9xQ"),
    ("I said SMTP_PASSWORD=§ is set.", "hunter2-blue-whale"),
    ("please use API_KEY=§ in production", "abc123def"),
    ("PASSWORD=§ and USER=bob", "hunter2"),
    ("db_pwd=§", "hunter2"),
    ("secret=§", "s3cr3t"),
    ("token=§", "abc123def"),
    ("api_key=§", "abc123def"),
    ("api-key: §", "abc123def"),
    ("apikey=§", "abcdefgh"),
    ("API key: §", "Zx81-abc"),
    ('"password": "§"', "x"),
    ('{"user": "bob", "password":"§", "n": 1}', "hunter2"),
    ('"api_key" : "§",', "abc123"),
    ('{\\"password\\": \\"§\\"}', "hunter2"),
    ("password: '§'", "correct horse battery staple"),
    ('const password = "§";', "correct horse battery staple"),
    ('password = "§"', 'with \\"escaped\\" quotes'),
    ('path = "x"; password = "§" # note', "ends in a backslash\\\\"),
    ("password: `§`", "hunter2"),
    ("let token: string = '§';", "abc123def"),
    ('let token: string | null = "§"', "abc123def"),
    ('String password = "§";', "hunter2"),
    ('token := "§"', "abc123def"),
    ("'password' => '§',", "hunter2"),
    ('os.environ["API_KEY"] = "§"', "abc123def"),
    ("process.env.API_KEY = '§'", "abc123def"),
    ('password = b"§"', "hunter2"),
    ('password = """§"""', "over\ntwo lines"),
    ("export AWS_SECRET_ACCESS_KEY=§", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "INVENTED99"),
    ("AWS_SECRET_ACCESS_KEY=§", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "INVENTED99"),
    ("aws_secret_access_key = §", "/JalrXUtnFEMI/K7MDENG/bPxRfiCY" + "INVENTED99"),
    ("export TOKEN='§'", "abc def"),
    ("set DB_PASSWORD=§", "hunter2"),
    ('$env:API_TOKEN = "§"', "abc123def"),
    ("DB_PASSWORD_PROD=§", "hunter2"),
    ("SECRET_KEY_BASE=§", HEX32),
    ("  POSTGRES_PASSWORD: §", "hunter2"),
    ("db:\n  password: §\n  port: 5432", "swordfish"),
    ("password: §", "p@ss,w;rd&x"),
    ("PASSWORD=§", "a&b;c|d"),
    ("password: § # for staging", "hunter2"),
    ("- name: DB_PASSWORD\n  value: §\n- name: PORT", "hunter2"),
    ('{"name": "API_KEY", "value": "§"}', "abc123"),
    ("<password>§</password>", "hunter2"),
    ("**Password**: §", "hunter2"),
    ("**Password:** §", "hunter2"),
    ("- password: §", "hunter2"),
    ("my password: § please", "hunter2"),
    ("My password is §.", "hunter2"),
    ("set the password to § on staging", "hunter2"),
    ("Server=db;User Id=sa;Password=§;Encrypt=true", "hunter2"),
    ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey=§;EndpointSuffix=y", A36 + "+/" + A36 + "=="),
    ("https://example.com/cb?token=§&state=1", "abcdef"),
    ("password＝§", "hunter2"),
    ('print(login(password="§"))', "hunter2"),
    ("X-Api-Key: §", "abc123def"),
    ("deploy --password § --force", "hunter2"),
    ("deploy --password=§", "hunter2"),
    ('deploy --api-key "§"', "abc 123"),
    ('["--token", "§"]', "abc123"),
    ("ENV API_KEY §", "abc123def"),
    ("machine example.com login bob password §", "hunter2"),
    ("machine example.com\n  login bob\n  password §\n", "letters"),
    ("//registry.example.com/:_authToken=§", A36),
    ('"password": "§', "hunter2"),
    ("password: §", "a1b2" * 200),
    ("spring.datasource.password=§", "letters"),
    ('System.setProperty("db.password", "§")', "hunter2"),
    ('headers.set("X-Api-Key", "§")', "abc123def"),
    ('builder.setPassword("§")', "hunter2"),
    ('password "§"', "hunter2"),
    ("| password | § |", "hunter2"),
    ("setx API_KEY §", "abc123def"),
    ("my password is: §", "Tr0ub4dor&3x"),
    ("client_secret: §", "abcdefghijkl"),
    ("SECRET_KEY='§'", "django-insecure-abc123$%^"),
    ("PRIVATE_TOKEN = '§'", "abc123"),
    ("pg_dump 'host=x password=§ dbname=y'", "letters"),
    ("MYSQL_PWD=§", "letters"),
    ('auth: { user: "bob", pass: "§" }', "letters"),
    ('password => "§"', "letters"),
    # Japanese
    ("パスワード：§", "hunter2"),
    ("パスワード: §", "hunter2"),
    ("パスワードは § です", "hunter2"),
    ("パスワードは§です。", "swordfish"),
    ("パスワードは「§」です", "ひみつ123"),
    ("パスワードは「§」です", "letters"),
    ("パスワード：『§』", "ひみつのことば"),
    ("パスワード § でログイン", "hunter2"),
    ("合言葉は§です", "swordfish"),
    ("パスワードを § に変更しました", "hunter2"),
    ("管理者の暗証番号は§です", "4821"),
    ("暗証番号：§", "4821"),
    ("秘密鍵：§", "abc123def456"),
    ("トークン: §", "abc123def456"),
    ("アクセストークンは§です", "abc123def456"),
    ("APIキー：§", "abc123def"),
    ("シークレットキー＝§", "abc123def"),
    ("ﾊﾟｽﾜｰﾄﾞ：§", "hunter2"),
    ("パスワード：§", "ｈｕｎｔｅｒ２"),
    # headers
    ("Authorization: Bearer §", "abcdefghijklmnop"),
    ('-H "Authorization: Bearer §" https://example.com', "abc.def-123"),
    ("{'Authorization': 'token §'}", HEX32),
    ("Authorization: Basic §", BASIC),
    ("uses basic § for it", BASIC),
    ("Bearer §", "a1b2c3d4e5f6"),
    ("Authorization: §", "a1b2c3d4e5f6"),
    ("Proxy-Authorization: Basic §", BASIC),
    ("//registry.example.com/:_auth=§", BASIC),
    ('{"auths": {"x": {"auth": "§"}}}', BASIC),
    ("Cookie: theme=dark; sessionid=§; lang=ja", "a1b2c3"),
    ("Set-Cookie: auth_token=§; Path=/; HttpOnly", "a1b2c3"),
    # URLs
    ("postgres://app:§@db.example.com:5432/app", "s3cret"),
    ("redis://:§@localhost:6379/0", "hunter2"),
    ("amqp://user:§@host/vhost", "p@ss"),
    ("git clone https://§@example.com/x.git", HEX32),
    ("https://hooks.slack.com/services/§", HOOK),
    ("https://discord.com/api/webhooks/123456789012/§", A36 + A36),
    ("https://x.blob.core.windows.net/c?sv=2020&sig=§", A36 + "%3D"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature=§", HEX32 + HEX32),
    # commands
    ("curl -u alice:§ https://example.com", "hunter2"),
    ("curl -s \\\n  --user 'alice:§' https://example.com", "two words"),
    ("mysql -u root -p§ app", "hunter2"),
    ("mysqldump -u root -p'§' app", "two words"),
    ("sshpass -p § ssh host", "hunter2"),
    ("docker login -u bob -p § registry.example.com", "hunter2"),
    ("PGPASSWORD=§ psql -h db", "letters"),
    # keys
    (f"{BEGIN}\n§\n{END}\n", PEM_LINES),
    (f'"{BEGIN}\\n§\\n{END}\\n"', PEM_LINES.replace("\n", "\\n")),
    (f"{BEGIN}\n§\n{END}", "abc123"),
    (f"{BEGIN}\n§", PEM_LINES),
    (f"{BEGIN}\n§\n\nThat was the key.", PEM_LINES + "\nabc="),
    (f"and so on\n§\n{END}", PEM_LINES),
    (f"{BEGIN}\n§\n{END}", PEM_LINES + "\n...(truncated)\n" + PEM_LINES),
    (f"     1→{BEGIN}\n     §\n    99→{END}", "2→" + PEM_LINES.replace("\n", "\n     3→")),
    (
        "-----BEGIN PGP PRIVATE KEY " + "BLOCK-----\n§\n-----END PGP PRIVATE KEY " + "BLOCK-----",
        "Version: X 1\n\n" + PEM_LINES + "\n=abcd",
    ),
]
TOKENS = [
    *(f"{kind}_{A36}" for kind in ("gh" + "p", "gh" + "o", "gh" + "u", "gh" + "s", "gh" + "r")),
    "github" + "_pat_" + "11ABCDEFG0" + A36 + "_" + A36,
    "gl" + "pat-" + A36[:20],
    "AK" + "IA" + UPPER16,
    "AS" + "IA" + UPPER16,
    "AI" + "za" + A36[:35],
    "ya" + "29." + A36,
    "GOC" + "SPX-" + A36[:28],
    *(f"xox{kind}-{SLACK}" for kind in "baprs"),
    *(prefix + A36[:24] for prefix in ("sk_" + "live_", "sk_" + "test_", "rk_" + "live_", "wh" + "sec_")),
    "sk-" + A36 + A36[:12],
    "sk-" + "proj-" + A36 + "_" + A36,
    "sk-" + "ant-" + "api03-" + A36 + "-" + A36,
    "sk-" + "ant-" + "oat01-" + A36 + "-" + A36,
    "np" + "m_" + A36,
    "1/" + "/0" + A36,
    "xa" + "pp-1-A0123456789-" + A36,
    "py" + "pi-" + "AgEIcHlwaS5vcmc" + A36 + A36,
    "h" + "f_" + A36[:34],
    "S" + "G." + A36[:22] + "." + A36 + "abcdefg",
    "S" + "K" + HEX32,
    "A" + "C" + HEX32,
    "MTk4NjIyNDgzNDcx" + "OTI1MjQ4." + "Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    "110201543:" + "AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "dop" + "_v1_" + HEX32 + HEX32,
    JWT,
    JWT.rpartition(".")[0],
    "hv" + "s." + A36,
    "shp" + "at_" + HEX32,
    "dckr" + "_pat_" + A36[:27],
]

CODE_AND_PROSE = [
    "TOKEN=token if token else None",
    "token: string",
    "token?: string;",
    "password: str",
    "password: str | None = None",
    "token = await getToken()",
    "const token = getToken();",
    "const secret = createSecret(options);",
    "apiKey: process.env.X",
    "apiKey: process.env.ANTHROPIC_API_KEY || config.apiKey,",
    'password = os.environ["X"]',
    'token = os.environ.get("GITHUB_TOKEN")',
    'api_key=os.getenv("API_KEY"),',
    "secret: Secret",
    "private secret: SecretStr;",
    "tokens: 1234",
    "max_tokens=4096",
    "token_count = 12",
    "token: 151643",
    '"input_tokens": 3315, "output_tokens": 20',
    "totalTokens: usage.totalTokens",
    "password: ${PASSWORD}",
    "TOKEN=$TOKEN",
    'TOKEN="$(cat token.txt)"',
    "TOKEN=$(cat token.txt)",
    "token: {{ secrets.TOKEN }}",
    'password: "{{ vault_password }}"',
    "Authorization: Bearer <your-token>",
    "Authorization: `Bearer ${token}`",
    'headers["Authorization"] = "Bearer " + token',
    "password: <your-password>",
    "GITHUB_TOKEN=" + "gh" + "p_xxxxxxxxxxxx",
    "OPENAI_API_KEY=your-key-here",
    "password: ********",
    "password: changeme",
    "self.token = token",
    "this.password = password;",
    "login(user=user, password=password)",
    "connect(host, token=tok)",
    "password: hashedPassword,",
    "return { token, secret: mySecret };",
    "token: config2.value,",
    "secret = Secret::new(bytes)",
    "if (token === 'EOF') return;",
    "password == other.password",
    "type TokenSource func(token string) error",
    "fn auth(token: &str, secret: Option<String>) -> bool",
    'console.log("token: " + token + "!");',
    'print("password: ", password, "done")',
    'print(f"token={token}")',
    "`https://x.example/?token=${token}`",
    "fetch(url + '?token=' + token + '&x=1')",
    '<input type="password" name="password" placeholder="Password">',
    '<label for="password">Password</label>',
    "the token is expired",
    "The password is required and must be at least 12 characters.",
    "Token: the thing that the lexer returns",
    "the secret is base64-encoded",
    "the API key was invalid",
    "use --password to set it, or --token TOKEN",
    "docker login --password-stdin",
    "Bearer authentication with Basic authentication as a fallback",
    "Basic realm",
    'eos_token: "</s>", pad_token: "[PAD]"',
    "token: ','",
    "password_hash = bcrypt(x)",
    "passwordLabel: 'Password'",
    "primary_key: id",
    'key: "value1234567890"',
    "tests passed: 12, bypass: abc123",
    "PWD=/home/alice/src",
    "secret: ./secrets/db.txt",
    "private_key: /etc/ssl/private/server.pem",
    "see https://example.com:8080/a@b and git@example.com:x/y.git",
    "postgres://user:${DB_PASSWORD}@localhost/db",
    'f"postgres://{user}:{password}@{host}/db"',
    "npm install left-pad@1.3.0 http://localhost:3000/@fs/x",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 550e8400-e29b-41d4-a716-446655440000",
    '"integrity": "sha512-' + A36 + A36 + "/" + A36 + '=="',
    "getUserAccessTokenFromRequestContextHeader",
    "sk-fading-circle-loading-indicator",
    "npm_lifecycle_event_with_a_long_name",
    "if (pem.includes('" + BEGIN + "')) { return parse(pem); }",
    f'return "{BEGIN}\\n" + wrap(key) + "\\n{END}"',
    "docker run -u 1000:1000 -p 3306:3306 mysql:8",
    "curl -u $USER:$TOKEN https://example.com",
    "mysql -u root -p app",
    "パスワードは必須です",
    "パスワードは8文字以上にしてください",
    "パスワードはbcryptでハッシュ化する",
    "パスワードを変更したい",
    "トークン: 1234",
    "トークンはJWTを使う",
    "トークンの有効期限は3600秒です",
    "パスワード: string",
    "キー: abc123",
    "パスワード：`[redacted]`",
    "トークンはgetToken()で取る",
    "パスワードはhash(x)に渡す",
    "cookie: req.headers.cookie",
    "Cookie: theme=${theme}; lang=ja; Path=/",
    '"AWS::Redshift::EndpointAuthorization": "e72be424d109da1d"',
    "Authorization: getHeader1(request)",
    "Basic abcdefghi",
    "MSG." + A36[:20] + "." + A36[:20],
    "_auth=notbase64credentials",
    'return ok ? "pass" : "FAIL";',
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTest-a1b2c3",
    "arn:aws:ec2:us-east-1:123456789012:network-insights-access-scope-analysis",
    'f"token {token:02x}"',
    "first_token=line_offset == 0",
    "self.token = nextchar",
    "token += nextchar",
    "secret: OAuth2Token",
    "private_key: ed25519.Ed25519PrivateKey,",
    "<label>{password}</label>",
    "<b>token</b>",
    'setPassword(hash("a b"))',
    '["--password", "--force"]',
    "parse('token, \"quoted value\"')",
    "pass `dtype=1` to it",
    "| token | v2 |",
    "deploy --secret id=mysecret,src=file",
    "the secret is 2048bit2 long",
    "Set-Cookie header with Path=/",
]


@pytest.mark.parametrize(("around", "secret"), SECRETS)
def test_secret_value_is_masked_and_its_name_stays(around, secret):
    assert mask_secrets(around.replace("§", secret)) == around.replace("§", M)


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "around", ["§", "use § here", '{"a":"§"}', "x=§;", "です。§です", "a\\n§\\nb", "(§)", "v%3D§"]
)
def test_token_with_a_known_shape_is_masked_wherever_it_stands(token, around):
    assert mask_secrets(around.replace("§", token)) == around.replace("§", M)


@pytest.mark.parametrize("text", CODE_AND_PROSE)
def test_code_and_prose_stay_as_they_are(text):
    assert mask_secrets(text) == text


@pytest.mark.parametrize("text", [around.replace("§", secret) for around, secret in SECRETS] + TOKENS)
def test_masking_twice_is_masking_once(text):
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@pytest.mark.parametrize("text", [around.replace("§", secret) for around, secret in SECRETS] + TOKENS)
def test_no_masked_text_escapes_the_cheap_test(text):
    assert may_hold_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        'password  b"hunter2"',
        'password \\"hunter2\\"}',
        "My password is\t hunter2.",
        "トークン　を　Zm9vYmFyYmF6MTIz　に変更",
        "API キーキー：「abc123」",
    ],
)
def test_unusual_spacing_escapes_neither_the_rules_nor_the_cheap_test(text):
    assert mask_secrets(text) != text
    assert may_hold_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "`max_tokens` と 600 トークンの節、外部キーの選択肢、主キー順",
        "パスワードが見えるボタン、シークレットは環境から渡します",
        "The `passage: ` prefix, three things passed: sensors, passcodes and a passKeyboard",
        "a foreign key: the data key = the one of the table, KeyError(key)",
        "The cookie is set by the proxy.",
    ],
)
def test_talk_of_keys_and_tokens_needs_no_second_look(text):
    assert not may_hold_secret(text)


def test_each_private_key_of_a_text_is_masked_where_one_is_cut_off():
    text = f"{PEM_LINES}\n{END}\nand\n{BEGIN}\n{PEM_LINES}\n{END}\n{END}\n{BEGIN}\n{PEM_LINES}"
    assert mask_secrets(text) == f"{M}\n{END}\nand\n{BEGIN}\n{M}\n{END}\n{END}\n{BEGIN}\n{M}"


def test_all_secrets_of_one_text_are_masked():
    text = "\n".join(around.replace("§", secret) for around, secret in SECRETS[:20])
    assert mask_secrets(text) == "\n".join(around.replace("§", M) for around, _ in SECRETS[:20])


def test_lowering_the_case_moves_no_character():
    everything = "".join(map(chr, range(0x110000)))
    folded = fold(everything)
    assert len(folded) == len(everything)
    assert folded[ord("İ")] == "i"


@pytest.mark.heavy
@pytest.mark.parametrize(
    "unit",
    [
        "password=",
        "password: ",
        'password="',
        "password='\"",
        "password " * 2 + "is ",
        "token\\\\\\\\",
        "token" + " " * 40,
        "a" * 64 + "token=",
        "gh" + "p_",
        "eyJ" + "a.",
        "://a:",
        "://" + "a" * 100,
        "Authorization: Bearer ",
        "cookie: a=",
        "cookie: a=b;",
        "curl -u a:",
        "curl ",
        "curl \\\n",
        "-----BEGIN ",
        BEGIN,
        END,
        f"{BEGIN}\n",
        "A" * 64 + "\n",
        f"{END}\nA",
        "パスワードは",
        "パスワード「",
        "M" + "a" * 23 + ".",
        "12345678:",
        "<password>",
        "--password ",
        "login a password ",
        "\\n",
        "A",
        "-",
        "token:" + "[" * 10,
        "token: a<",
    ],
)
def test_a_megabyte_of_hostile_text_is_bounded_work(unit):
    text = unit * (1_000_000 // len(unit))
    assert len(mask_secrets(text)) > 0
