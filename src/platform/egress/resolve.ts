import { Resolver } from 'node:dns/promises';

const QUERY_MS = 1_500;
const TRIES = 2;
const TIMEOUT_MS = 4_000;
const MAX_ADDRESSES = 8;

/**
 * Returns the addresses of a name, at most 8. Rejects with the code ENOTFOUND when it has none, and EAI_AGAIN when no
 * answer comes within 4 s.
 */
export type Resolve = (name: string) => Promise<string[]>;

/**
 * Asks the machine's DNS servers. `localhost` is answered here; the file `hosts` and search domains are not used. It
 * does not use the threads on which Node looks names up by default: there are four for the whole process, and a tenant
 * whose name servers do not answer would hold them.
 */
export const resolveByDns: Resolve = async (name) => {
  if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
  const resolver = new Resolver({ timeout: QUERY_MS, tries: TRIES });
  const timer = setTimeout(() => resolver.cancel(), TIMEOUT_MS);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses.slice(0, MAX_ADDRESSES);
    const failures = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as Error] : [],
    );
    const is_absent = failures.every((error) => ABSENT.has((error as NodeJS.ErrnoException).code ?? ''));
    throw Object.assign(new Error(`the name "${name}" has no address`, { cause: failures[0] }), {
      code: is_absent ? 'ENOTFOUND' : 'EAI_AGAIN',
    });
  } finally {
    clearTimeout(timer);
  }
};

const ABSENT = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
