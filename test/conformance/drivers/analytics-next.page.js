/* global AnalyticsNext */

/**
 * Drives analytics.js in its page, which has loaded the client as AnalyticsNext: gives it the events of a task, which are all
 * of one visitor.
 *
 * @param {{ writeKey: string, apiHost: string, sequences: { delayMs: number, events: object[] }[], config: object }} task
 */
globalThis.drive = async ({ writeKey, apiHost, sequences, config }) => {
  const [analytics] = await AnalyticsNext.AnalyticsBrowser.load({ writeKey, cdnURL: apiHost }, config);
  analytics.setAnonymousId(sequences.find(({ events }) => events.length > 0).events[0].anonymousId);
  const give = ({ type, userId, event, name, groupId, properties, traits, context }) => {
    const options = { context };
    if (type === 'identify') return analytics.identify(userId, traits, options);
    if (type === 'group') return analytics.group(groupId, traits, options);
    if (type === 'track') return analytics.track(event, properties, options);
    return analytics[type](name, properties, options);
  };
  const given = [];
  for (const { delayMs, events } of sequences) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    for (const event of events) given.push(give(event));
  }
  await Promise.all(given);
};
