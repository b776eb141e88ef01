import { expect, it } from 'vitest';
import { accessOf } from '../../../src/platform/clickhouse/http.ts';
import { migrateClickHouse } from '../../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';

// ClickHouse loads the dictionary as some user. The embedded engine has no users, so these tests check the SQL text.

/** Records statements; `run` may throw. */
function recorder(run: (sql: string) => void = () => undefined) {
  const statements: string[] = [];
  const clickhouse = {
    query: async () => [],
    command: async (sql: string) => {
      statements.push(sql);
      run(sql);
    },
  } as unknown as ClickHouse;
  const dictionary = () => statements.find((sql) => sql.includes('dictionary if not exists player_alias'));
  return { clickhouse, dictionary };
}

it('the dictionary is loaded as the user of the URL', async () => {
  const { clickhouse, dictionary } = recorder();
  await migrateClickHouse(clickhouse, accessOf('http://engagement:s3cret@clickhouse:8123/engagement'));
  expect(dictionary()).toContain(`source(clickhouse(user 'engagement' password 's3cret' query 'select`);
});

it('the dictionary is loaded as the default user when the URL names none', async () => {
  const { clickhouse, dictionary } = recorder();
  await migrateClickHouse(clickhouse, accessOf('http://clickhouse:8123/engagement'));
  expect(dictionary()).toContain(`source(clickhouse(query 'select`);
});

it('a password is escaped, whatever characters it contains', async () => {
  const password = `a'b\\c$&$'{database}%`;
  const { clickhouse, dictionary } = recorder();
  await migrateClickHouse(clickhouse, accessOf(`http://:${encodeURIComponent(password)}@clickhouse:8123/x`));
  expect(dictionary()).toContain(`user 'default' password 'a\\'b\\\\c$&$\\'{database}%' query`);
});

it('an error does not contain the password', async () => {
  const { clickhouse } = recorder((sql) => {
    if (sql.includes('dictionary')) throw new Error(`Syntax error near: ${sql}`);
  });
  const failed = migrateClickHouse(clickhouse, { user: 'u', password: `s3'cret` });
  await expect(failed).rejects.toThrow(/Syntax error near: .*user 'u' password '\*\*\*'/s);
});
