-- What deleted rows have cost, for budgets in total. Amounts are integers of 10^-12 dollars.
CREATE TABLE agentloop.deleted (
    is_team boolean NOT NULL,
    name text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    usd numeric NOT NULL,
    PRIMARY KEY (is_team, name, node)
);
