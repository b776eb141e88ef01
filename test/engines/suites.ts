// Which test files run in which project of vitest.config.ts. test/tidy.test.ts checks that every name matches a file.

/**
 * Files that take over 20 s on two cores while others run, the longest first. A fresh clone has no recorded durations
 * and would start some of them last.
 */
export const LONG = [
  'test/conformance/real-clients.browser.test.ts',
  'test/reconcile/rebuild.test.ts',
  'test/crash/engines-kill.distributed.test.ts',
  'test/platform/postgres/statement-plans.test.ts',
  'test/contract/event-log.distributed.test.ts',
  'test/console/segment-builder.browser.test.ts',
  'test/players/identity/merge-history.test.ts',
  'test/crash/positions.distributed.test.ts',
  'test/crash/epochs.test.ts',
  'test/console/campaigns.browser.test.ts',
  'test/crash/servers-kill.distributed.test.ts',
  'test/platform/event-log/kafka-log.distributed.test.ts',
  'test/console/bonuses.browser.test.ts',
  'test/oracle/totals.test.ts',
  'test/crash/positions.test.ts',
  'test/console/journeys.browser.test.ts',
  'test/console/compliance.browser.test.ts',
  'test/crash/journeys-kill.test.ts',
  'test/reconcile/reconcile.test.ts',
  'test/console/segments.browser.test.ts',
  'test/console/templates.browser.test.ts',
  'test/app/npm-start.test.ts',
  'test/bonuses/grants/lives.test.ts',
  'test/crash/bonus-campaign-kill.test.ts',
  'test/engage/triggers/undecided.test.ts',
  'test/engage/journeys/runs/audience.test.ts',
  'test/engage/triggers/event-included.test.ts',
  'test/analytics/sink-blocks.distributed.test.ts',
  'test/console/settings.browser.test.ts',
  'test/players/identity/interleavings.test.ts',
  'test/console/keyboard-tour.browser.test.ts',
  'test/console/overview.browser.test.ts',
  'test/bonuses/grants/platform-outcomes.test.ts',
  'test/contract/event-log.embedded.test.ts',
  'test/tenants/tenancy-matrix.test.ts',
  'test/console/developers.browser.test.ts',
  'test/engage/campaigns/send.test.ts',
  'test/crash/restore.test.ts',
  'test/bonuses/campaigns/bonus-campaigns.test.ts',
  'test/ledger/fx/fx-fetch.test.ts',
  'test/bonuses/campaigns/campaign-work.test.ts',
  'test/console/shell.browser.test.ts',
  'test/console/demo.browser.test.ts',
  'test/crash/journeys-deploy.test.ts',
  'test/oracle/currencies.test.ts',
  'test/platform/jobs/jobs.test.ts',
  'test/segments/compile.property.test.ts',
  'test/segments/backtest/membership.property.test.ts',
  'test/players/scores/nightly.test.ts',
  'test/engage/journeys/runs/cashback-runs.test.ts',
  'test/bonuses/campaigns/release.test.ts',
  'test/crash/fan-out-kill.test.ts',
  'test/console/vip.browser.test.ts',
  'test/engage/journeys/commands/commands.test.ts',
  'test/crash/service-kill.test.ts',
  'test/bonuses/grants/bonus-grants.test.ts',
  'test/segments/failing-segments.test.ts',
  'test/console/events/live.test.ts',
];

/**
 * Files that judge figures of time. They run one after the other and after all others, which would spoil the figures.
 */
export const MEASURING_TIME = 'test/**/*.time.test.ts';
export const MEASURING_TIME_ON_SERVERS = 'test/**/*.time.distributed.test.ts';

/**
 * What a change does not need to see each time: `quick` leaves it out, and `ci` runs it. Everything else, and every new
 * file, is part of `quick`.
 */
export const FROM_CI_ON = {
  'kills processes, or starts whole processes of the service': [
    'test/app/{npm-start,readme}.test.ts',
    'test/http/auth/postgres-away.test.ts',
    'test/bonuses/grants/{exclusion-race,lives}.test.ts',
    'test/crash/*.test.ts',
  ],
  'measures time with engines': [
    'test/http/auth/key-lookups.time.test.ts',
    'test/bonuses/campaigns/release.time.test.ts',
    'test/contract/event-log.time.test.ts',
    'test/http/overload.time.test.ts',
    'test/platform/postgres/pipelined-reader.time.test.ts',
    'test/segments/refresh.time.test.ts',
  ],
  'explains statements on many rows': ['test/**/*-plans.test.ts'],
  'tests failures, repeats and merges in a pipeline that quick runs once': [
    'test/engage/messaging/messenger-faults.test.ts',
    'test/engage/triggers/undecided.test.ts',
    'test/players/identity/merge-history.test.ts',
    'test/segments/failing-segments.test.ts',
  ],
  'records an example of every operation, which quick compares with the schemas': [
    'test/app/openapi-examples.test.ts',
  ],
  'tests the event log, the sessions of ClickHouse and the jobs without the service': [
    'test/contract/event-log.embedded.test.ts',
    'test/platform/clickhouse/embedded-sessions.test.ts',
    'test/platform/jobs/jobs.test.ts',
  ],
  'compares much at random, of what quick sees by example': [
    'test/oracle/currencies.test.ts',
    'test/players/identity/interleavings.test.ts',
    'test/engage/journeys/simulation/simulate.property.test.ts',
    'test/engage/messaging/exclusion-race.test.ts',
    'test/reconcile/rebuild.test.ts',
  ],
} satisfies Record<string, string[]>;

/** What only the night runs, by the reason. */
export const AT_NIGHT = {
  'bounds the median answer time while engines are dead; ci runs the same tests without this bound': [
    'test/crash/engines-kill.time.distributed.test.ts',
  ],
  'proves a model of the tests, not the service': ['test/players/identity/interleavings.faults.test.ts'],
  'installs the packages of an image, which the workflow of a change builds with Docker': [
    'test/deploy/image.distributed.test.ts',
  ],
} satisfies Record<string, string[]>;

/** What can come out differently on servers, by the engine that it depends on; each change runs these. */
export const DEPENDS_ON_SERVERS = [
  // Written for servers.
  'test/**/*.distributed.test.ts',
  // Kafka: events go in, and what follows from them is compared; offsets, lag, dead letters, a log that does not answer.
  'test/oracle/totals.test.ts',
  'test/ingest/{intake,dead-letters}.test.ts',
  'test/http/health.test.ts',
  // ClickHouse over HTTP: parameters in URLs and forms, several queries at a time, its errors.
  'test/reconcile/reconcile.test.ts',
  'test/players/history/player-history.test.ts',
  'test/segments/reading.test.ts',
  // Redis: limits that several processes share.
  'test/http/rate-limits.test.ts',
];

/** What never runs on servers, by the reason. Every other file runs on them each night. */
export const NEVER_ON_SERVERS = {
  'checks the repository itself': [
    'test/{docs,floors,tidy}.test.ts',
    'test/deploy/{compose,packages}.test.ts',
  ],
  'uses no engine': [
    'test/analytics/export/days.test.ts',
    'test/app/scrape-limits.test.ts',
    'test/bonuses/grants/{call-order,transition}.test.ts',
    'test/http/auth/{remote-keys,sign-in,webhook-signature}.test.ts',
    'test/adapters/{adapter-check,calls,departures,docs}.test.ts',
    'test/config.test.ts',
    'test/contract/rate-limit.test.ts',
    'test/engage/campaigns/variant-choice.test.ts',
    'test/engage/journeys/graph/{local-time,named-moment}.test.ts',
    'test/engage/journeys/runs/advance{,.property}.test.ts',
    'test/engage/journeys/runs/event-filters.test.ts',
    'test/engage/messaging/{batch-dispatcher,quiet-hours,smtp,transports,unsubscribe-link}.test.ts',
    'test/engage/templates/{plain-text,render}.test.ts',
    'test/engage/webhooks/lanes.test.ts',
    'test/engines/until.test.ts',
    'test/http/{close-server,timestamp}.test.ts',
    'test/import/{mapping,records,sending}.test.ts',
    'test/ingest/events/envelope.test.ts',
    'test/ledger/fold/{decide.property,snapshot}.test.ts',
    'test/ledger/fx/{conversion.property,decimal,rate-provider}.test.ts',
    'test/ledger/money/claims.test.ts',
    'test/reconcile/compare.test.ts',
    'test/players/tiers/recompute.property.test.ts',
    'test/platform/clickhouse/{chunks,clickhouse-migrate}.test.ts',
    'test/platform/event-log/{kafka-partitioner,record-ages,record-size}.test.ts',
    'test/platform/egress/egress.test.ts',
    'test/platform/{back-off,bucket,poll-loop,round-robin,timestamp}.test.ts',
    'test/players/identity/interleavings.{faults,model}.test.ts',
    'test/segments/{definition,docs,vocabulary}.test.ts',
    'test/tenants/config/{capability-cache,merge-patch}.test.ts',
  ],
  'starts the embedded engines itself, because it kills, copies or configures them': [
    'test/app/{npm-start,readme}.test.ts',
    'test/http/auth/{key-guessing,postgres-away}.test.ts',
    'test/contract/event-log.embedded.test.ts',
    'test/crash/{bonus-campaign-kill,bonus-sender-kill,epochs,restore,second-start,service-kill,webhook-kill}.test.ts',
    'test/golden/schemas.test.ts',
    'test/platform/postgres/{embedded-server,transactions}.test.ts',
    'test/**/*-plans.test.ts',
  ],
  'reads files of this machine with the embedded ClickHouse; that of a server gives such files in clickhouse.distributed.test.ts':
    ['test/analytics/export/export.test.ts'],
  'prepares the positions and records of the embedded log; files named *.distributed.test.ts do so in Kafka':
    ['test/crash/positions.test.ts', 'test/platform/event-log/missing-offsets.test.ts'],
  'compares the SQL of segments and conversions with a model on a ClickHouse without the service': [
    'test/engage/journeys/graph/where.test.ts',
    'test/engage/campaigns/conversion.property.test.ts',
    'test/segments/{compile.property,examples,extreme-definitions,hostile-texts}.test.ts',
  ],
} satisfies Record<string, string[]>;

/** Suites that drive a real browser and clients of others, which scripts/install-test-engines.sh installs. */
export const IN_A_BROWSER = 'test/{clients,conformance,console}/**/*.browser.test.ts';
