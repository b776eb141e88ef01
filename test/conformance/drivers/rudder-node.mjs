import { giveAll, requireClient, resultOf, run } from './run.mjs';

const Analytics = requireClient('@rudderstack/rudder-sdk-node');

await run(async ({ writeKey, apiHost, sequences, config }) => {
  const errors = [];
  const client = new Analytics(writeKey, {
    dataPlaneUrl: apiHost,
    ...config,
    // Without it a batch that is given up ends the process.
    errorHandler: (error) => errors.push(error),
  });
  const batches = new Set();
  const answers = [];
  await giveAll(sequences, ({ type, ...event }) => {
    const answered = new Promise((resolve) => {
      client[type](event, (error, batch) => {
        if (!error) batches.add(batch);
        resolve();
      });
    });
    answers.push(answered);
  });
  await client.flush();
  await Promise.all(answers);
  return resultOf(batches.size, errors);
});
