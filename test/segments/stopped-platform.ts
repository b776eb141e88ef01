import type { Platform } from '../../src/platform/platform.ts';

/** The process dies here, as far as its work is concerned. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}

/**
 * The platform of a process that dies when its work begins its `nth` statement to ClickHouse or transaction of Postgres, from
 * 0; work that needs fewer ends.
 */
export function stopAt(platform: Platform, nth: number): Platform {
  let left = nth;
  const step = () => {
    if (left-- <= 0) throw new Stopped();
  };
  const { postgres, clickhouse } = platform;
  const asked = new Proxy(clickhouse, {
    get: (of, name) => {
      const member: unknown = Reflect.get(of, name);
      if (name !== 'query' || typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        step();
        return Reflect.apply(member, of, args);
      };
    },
  });
  return {
    ...platform,
    clickhouse: asked,
    postgres: {
      ...postgres,
      session: (work) =>
        postgres.session((session) =>
          work({
            sql: session.sql,
            begin: (inner) => {
              step();
              return session.begin(inner);
            },
          }),
        ),
    },
  };
}
