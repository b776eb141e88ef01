import { giveAll, requireClient, resultOf, run } from './run.mjs';

const { Analytics } = requireClient('@segment/analytics-node');

/** Ends by `closeAndFlush`, as a server does when it stops. */
await run(async ({ writeKey, apiHost, sequences, config }) => {
  const client = new Analytics({ writeKey, host: apiHost, ...config });
  let sent_batches = 0;
  const errors = [];
  client.on('http_response', ({ status }) => {
    if (status >= 200 && status < 300) sent_batches += 1;
  });
  client.on('error', ({ reason }) => errors.push(reason));
  await giveAll(sequences, ({ type, ...event }) => client[type](event));
  // Without a time of its own it gives up after a little more than one flush interval.
  await client.closeAndFlush({ timeout: 2 ** 31 - 1 });
  return resultOf(sent_batches, errors);
});
