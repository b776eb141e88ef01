import type { Platform } from '../../src/platform/platform.ts';

/** The process dies here, as far as its work is concerned. */
class Stopped extends Error {
  override readonly name = 'Stopped';
}

/**
 * The platform of a process that dies before the `nth` query of ClickHouse or transaction of Postgres of its work, from 0; work
 * that needs fewer ends.
 */
export function stopAt(platform: Platform, nth: number): Platform {
  let left = nth;
  const step = () => {
    if (left-- <= 0) throw new Stopped();
  };
  const { postgres, clickhouse } = platform;
  return {
    ...platform,
    clickhouse: before(clickhouse, 'query', step),
    postgres: {
      ...postgres,
      service: before(postgres.service, 'begin', step),
      session: (work) => postgres.session((session) => work(before(session, 'begin', step))),
    },
  };
}

/** The object, with `step` before each call of one method. */
function before<T extends object>(object: T, method: keyof T, step: () => void): T {
  return new Proxy(object, {
    get: (of, name) => {
      const member: unknown = Reflect.get(of, name);
      if (name !== method || typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        step();
        return Reflect.apply(member, of, args);
      };
    },
  });
}
