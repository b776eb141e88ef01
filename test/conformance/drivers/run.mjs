import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Loads a client that scripts/install-test-engines.sh has installed in the folder CONFORMANCE_CLIENTS. */
export const requireClient = createRequire(join(process.env['CONFORMANCE_CLIENTS'] ?? '', 'package.json'));

/**
 * Runs a driver as its process: `--input` is the JSON of the task, or `@` and the file that has it. Prints the result as
 * a line of JSON.
 *
 * @param {(input: object) => Promise<object>} drive
 */
export async function run(drive) {
  const given = process.argv[process.argv.indexOf('--input') + 1] ?? '';
  const input = JSON.parse(given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given);
  process.stdout.write(`${JSON.stringify(await drive(input))}\n`);
}

/**
 * Gives the events of the sequences to the client, in their order.
 *
 * @param {{ delayMs: number, events: object[] }[]} sequences
 * @param {(event: object) => void} give
 */
export async function giveAll(sequences, give) {
  for (const { delayMs, events } of sequences) {
    await sleep(delayMs);
    for (const event of events) give(event);
  }
}

/**
 * The result of a run. The client has succeeded when it reported no error.
 *
 * @param {number} sentBatches
 * @param {unknown[]} errors
 */
export function resultOf(sentBatches, errors) {
  const texts = errors.map(String);
  return { success: errors.length === 0, sentBatches, ...(errors.length === 0 ? {} : { error: texts[0] }) };
}
