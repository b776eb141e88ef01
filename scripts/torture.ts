import { parseArgs } from 'node:util';
import { tortureFanOut, type FanOutTortureResult } from '../test/crash/fan-out-harness.ts';
import { tortureJourneys, type JourneysTortureResult } from '../test/crash/journeys-harness.ts';
import { torture, type Kill, type TortureResult } from '../test/crash/harness.ts';
import {
  tortureServers,
  type ServersTortureOptions,
  type ServersTortureResult,
} from '../test/crash/servers-harness.ts';

const USAGE = `usage: npm run torture -- [--kills <n>] [--seed <n>] [--servers | --fan-out [--members <n>] | --journeys]

Runs the real service under load on an empty folder, kills it with SIGKILL (200 times by default) and compares
every event and every total with what was accepted. With --fan-out it sends campaigns to so many members (100,000)
instead, kills the messenger, and compares rows and messages with the members. With --journeys players go through a
journey; it compares runs, steps, messages and webhooks with the accepted events. With --servers it runs the service as
two processes on its own Kafka, Redis, Postgres and ClickHouse, kills any of these six, and also compares members of
segments and messages. Exit 0 means nothing was lost and nothing doubled.`;

const MAX_SHOWN = 50;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string' },
      seed: { type: 'string' },
      'fan-out': { type: 'boolean' },
      members: { type: 'string' },
      servers: { type: 'boolean' },
      journeys: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return say(USAGE);
  const kills = Number(values.kills ?? '200');
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  const members = Number(values.members ?? '100000');
  if (![kills, members].every((count) => Number.isSafeInteger(count) && count > 0)) throw new Error(USAGE);
  if (!Number.isSafeInteger(seed)) throw new Error(USAGE);
  say(`torture: ${kills} kills, seed ${seed}`);
  if ([values['fan-out'], values.servers, values.journeys].filter(Boolean).length > 1) throw new Error(USAGE);
  if (values['fan-out'] === true)
    return showFanOut(await tortureFanOut({ kills, members, seed, onKill: countKill }));
  if (values.journeys === true)
    return showJourneys(await tortureJourneys({ kills, seed, onKill: countKill }));
  if (values.servers === true) {
    const onStrike = showStrike(kills);
    return showServers(await tortureServers({ kills, seed, onStrike }));
  }
  const result = await torture({ kills, seed, onKill: (kill) => showKill(kill, kills) });
  showResult(result);
}

function showKill({ number, moment, after_ms, restart_ms }: Kill, kills: number): void {
  const what = { load: 'under load', postgres: 'Postgres and service', start: 'while starting' }[moment];
  const line = `kill ${number}/${kills}  ${what} after ${after_ms} ms, back in ${Math.round(restart_ms)} ms`;
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${line}${number === kills ? '\n' : ''}`);
  else if (number % 10 === 0 || number === kills) say(line);
}

function countKill(number: number): void {
  if (number % 10 === 0) say(`kill ${number}`);
}

function showStrike(wanted: number): NonNullable<ServersTortureOptions['onStrike']> {
  return ({ victims, moment, after_ms }, kills, restart_ms) => {
    const what = victims.join(moment === 'start' ? ' starts, then ' : ' and ');
    say(`kill ${kills}/${wanted}  ${what} after ${after_ms} ms, back in ${Math.round(restart_ms)} ms`);
  };
}

function showServers(result: ServersTortureResult): void {
  const listed = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, count]) => `${count} ${name}`).join(', ');
  say(
    `kills          ${listed(result.kills)} (longest way back ${Math.round(result.longest_restart_ms)} ms)`,
  );
  showLoad(result);
  say(`members        ${result.changes} changes on the log, ${result.repeated_changes} of them twice`);
  say(`exclusions     ${result.exclusions}`);
  say(`messages       ${result.messages} at the provider; rows: ${listed(result.outcomes)}`);
  say(`time           ${(result.duration_ms / 1000).toFixed(1)} s`);
  showDifferences(result.differences, result.logs);
}

function showFanOut({ campaigns, messages, unknown, differences }: FanOutTortureResult): void {
  say(`campaigns      ${campaigns}`);
  say(`messages       ${messages}, and ${unknown} rows of unknown outcome`);
  for (const difference of differences.slice(0, MAX_SHOWN)) say(`  ${difference}`);
  say(`${differences.length} differences`);
  if (differences.length > 0) process.exitCode = 1;
}

function showJourneys(result: JourneysTortureResult): void {
  say(`runs           ${result.runs} with ${result.steps} steps, ${result.cancelled} cancelled`);
  say(`awaited events ${result.answered} runs were answered`);
  say(`messages       ${result.messages}, and ${result.unknown} of them of unknown outcome`);
  say(`webhooks       ${result.webhooks} in ${result.attempts} attempts`);
  say(`requests       ${result.unanswered} without an answer`);
  say(`time           ${(result.duration_ms / 1000).toFixed(1)} s`);
  for (const difference of result.differences.slice(0, MAX_SHOWN)) say(`  ${difference}`);
  say(`${result.differences.length} differences`);
  if (result.differences.length > 0) process.exitCode = 1;
}

function showResult(result: TortureResult): void {
  say(`kills          ${result.kills} (longest way back ${Math.round(result.longest_restart_ms)} ms)`);
  showLoad(result);
  say(`time           ${(result.duration_ms / 1000).toFixed(1)} s`);
  showDifferences(result.differences, result.data_dir);
}

type LoadCounts = Pick<
  TortureResult,
  'events' | 'requests' | 'ambiguous' | 'repeated' | 'repeated_rows' | 'faults'
>;

function showLoad(result: LoadCounts): void {
  say(
    `events         ${result.events} in ${result.requests} requests, ${result.ambiguous} once without an answer`,
  );
  say(
    `duplicates     ${result.repeated} events sent again; ${result.repeated_rows} repeated rows for ClickHouse to merge`,
  );
  say(`answers 500    ${result.faults}`);
}

/** Shows the first differences, and the folder that was kept because of them. */
function showDifferences(differences: readonly string[], kept: string | undefined): void {
  for (const difference of differences.slice(0, MAX_SHOWN)) say(`  ${difference}`);
  if (differences.length > MAX_SHOWN) say(`  … and ${differences.length - MAX_SHOWN} more`);
  say(`${differences.length} differences${differences.length > 0 ? `; see ${kept}` : ''}`);
  if (differences.length > 0) process.exitCode = 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
