import { parseArgs } from 'node:util';
import { checkAdapter } from './adapter-conformance.ts';
import { say } from './say.ts';

const USAGE = `usage: npm run adapter-check -- <url> --secret <secret> [--bearer <token>] [--player <id>]

Checks whether a casino platform speaks the protocol of docs/adapter.md: it grants, asks for and cancels one bonus of one
smallest unit to the player (default: adapter-check), and sends calls that must be refused. It needs no service.
  <url>      the base URL of the adapter, to which paths such as /v1/bonuses/grant are added
  --secret   what signs the calls
  --bearer   the token, if the adapter has one
Exit code: 0 when every check has passed, 1 when one has failed, 2 when the command line cannot be used.`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { secret: { type: 'string' }, bearer: { type: 'string' }, player: { type: 'string' } },
  });
  const [url, ...rest] = positionals;
  const { secret, bearer, player } = values;
  if (url === undefined || !URL.canParse(url) || rest.length > 0 || secret === undefined) {
    say(USAGE);
    return 2;
  }
  const passed = await checkAdapter({ url, secret, bearer, player }, (check) => {
    say(`${check.passed ? 'pass' : 'FAIL'}  ${check.name}: expected ${check.expected}`);
    if (!check.passed) say(`      got ${check.got}`);
  });
  say(passed ? 'All checks have passed.' : 'Some checks have failed.');
  return passed ? 0 : 1;
}

process.exitCode = await main();
