-- Keys are in the order in which they were created. `record` is their JSON; the other columns are what is searched for.
CREATE TABLE agentloop.keys (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    sha256 text COLLATE "C" NOT NULL UNIQUE,
    team text COLLATE "C",
    created_ms bigint NOT NULL,
    revoked_ms bigint,
    record text NOT NULL
);
CREATE UNIQUE INDEX keys_name ON agentloop.keys (name) WHERE revoked_ms IS NULL;

CREATE TABLE agentloop.teams (
    name text COLLATE "C" PRIMARY KEY,
    record text NOT NULL
);

-- One row. Every change of keys and teams changes it first, so there is one change at a time.
CREATE TABLE agentloop.state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    keys_version bigint NOT NULL
);
INSERT INTO agentloop.state (keys_version) VALUES (0);

CREATE TABLE agentloop.prices (
    id text COLLATE "C" PRIMARY KEY,
    price text NOT NULL
);

-- Amounts are integers of 10^-12 dollars. PostgreSQL adds them up as NUMERIC, without an overflow.
CREATE TABLE agentloop.ledger (
    id text COLLATE "C" PRIMARY KEY,
    request text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    time_ms bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    team text COLLATE "C",
    api text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    provider text COLLATE "C" NOT NULL,
    served text COLLATE "C" NOT NULL,
    tags text[] COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    estimated boolean NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    usd bigint,
    reserved bigint NOT NULL,
    price text COLLATE "C",
    duration_ms bigint NOT NULL,
    first_byte_ms bigint,
    status integer NOT NULL
);
CREATE INDEX ledger_time ON agentloop.ledger (time_ms, id);
-- The sums of budgets are read every two seconds: with all their columns in the index, the rows themselves are not.
CREATE INDEX ledger_key ON agentloop.ledger (key, time_ms)
    INCLUDE (usd, estimated, outcome, prompt_tokens, completion_tokens, cached_tokens);
CREATE INDEX ledger_team ON agentloop.ledger (team, time_ms)
    INCLUDE (usd, estimated, outcome, prompt_tokens, completion_tokens, cached_tokens);
