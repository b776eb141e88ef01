import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** How often the lag of the event loop is measured. Its minimum, mean and percentiles are no less than this. */
const LAG_PRECISION_MS = 100;

/** The Prometheus metrics of one process; names are documented in docs/metrics.md. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates a registry of its own, so that several platforms can live in one test process. */
export function createMetrics() {
  const registry = new Registry();
  // Each measurement of the event loop's lag wakes the process, also when it is idle.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  const registers = [registry];
  return {
    registry,
    buildInfo: new Gauge({
      name: 'build_info',
      help: 'Always 1; the labels say which program runs',
      labelNames: ['version', 'commit'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the arrival of a request until its answer is written, without event streams',
      labelNames: ['route', 'method', 'status'],
      buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10],
      registers,
    }),
    eventsAccepted: new Counter({
      name: 'events_accepted_total',
      help: 'Events that were accepted',
      registers,
    }),
    eventsRejected: new Counter({
      name: 'events_rejected_total',
      help: 'Events refused at intake',
      labelNames: ['code'],
      registers,
    }),
    identityConflicts: new Counter({
      name: 'segment_identity_conflicts_total',
      help: 'identify and alias calls of the Segment dialect whose ids belong to players who are not merged',
      registers,
    }),
    segmentCalls: new Counter({
      name: 'segment_intake_events_total',
      help: 'Calls of the Segment dialect, by type and by outcome: accepted or rejected',
      labelNames: ['type', 'outcome'],
      registers,
    }),
    intakeClients: new Counter({
      name: 'intake_clients_total',
      help: 'Requests of intake whose API key is accepted, by the kind of client that sent them',
      labelNames: ['library'],
      registers,
    }),
    rejectionsDropped: new Counter({
      name: 'rejected_events_dropped_total',
      help: 'Refusals that are not shown in Events › Rejected: not stored, or of too many causes',
      labelNames: ['cause'],
      registers,
    }),
    appendSeconds: new Histogram({
      name: 'intake_append_seconds',
      help: 'Time until the events of a request are durable',
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2],
      registers,
    }),
    foldBatchEvents: new Histogram({
      name: 'fold_batch_events',
      help: 'Events per fold transaction',
      buckets: [1, 10, 100, 1000, 5000],
      registers,
    }),
    foldBatchSeconds: new Histogram({
      name: 'fold_batch_seconds',
      help: 'Time per fold transaction',
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    eventsFolded: new Counter({ name: 'events_folded_total', help: 'Events applied by the fold', registers }),
    duplicates: new Counter({
      name: 'events_duplicate_total',
      help: 'Events dropped as duplicates',
      registers,
    }),
    stakeMismatches: new Counter({
      name: 'bets_stake_mismatch_total',
      help: 'Bets whose placed and settled stakes differ',
      registers,
    }),
    staleRates: new Counter({
      name: 'fx_stale_rates_total',
      help: 'Rates that a provider gave although they were old: prices of over a day, rates of central banks of over 6 days',
      labelNames: ['provider'],
      registers,
    }),
    duplicatesDiffering: new Counter({
      name: 'duplicates_differing_total',
      help: 'Duplicates with another time, game, payment method, sport or match than the event that counts',
      registers,
    }),
    betTotalMismatches: new Counter({
      name: 'bet_total_mismatches_total',
      help: 'Bets whose movements differed from their settlement',
      registers,
    }),
    betTwins: new Counter({
      name: 'bet_movement_twins_total',
      help: 'Events of bets without movement_id that repeat one with it, and are ignored',
      registers,
    }),
    betMovementsAfterVoid: new Counter({
      name: 'bet_movements_after_void_total',
      help: 'Movements of casino bets that happened after the void of the whole bet',
      registers,
    }),
    reversalsAboveOriginal: new Counter({
      name: 'reversals_above_original_total',
      help: 'Deposits and withdrawals whose reversals came to exceed them',
      registers,
    }),
    reversalsReopened: new Counter({
      name: 'reversals_reopened_total',
      help: 'Reversals that went back to an earlier amount after 0',
      registers,
    }),
    deadLetters: new Counter({
      name: 'events_dead_letter_total',
      help: 'Events sent to the dead-letter topic',
      labelNames: ['reason'],
      registers,
    }),
    sinkBlockRows: new Histogram({
      name: 'sink_block_rows',
      help: 'Event rows per insert into ClickHouse',
      buckets: [1, 10, 100, 1000, 10_000, 50_000],
      registers,
    }),
    consumersRefused: new Gauge({
      name: 'consumer_refused',
      help: '1 while a consumer does not start because its positions do not fit the event log',
      labelNames: ['group'],
      registers,
    }),
    rowsSunk: new Counter({ name: 'sink_rows_total', help: 'Event rows written to ClickHouse', registers }),
    rowsUnreadable: new Counter({
      name: 'sink_records_unreadable_total',
      help: 'Records of player-events that are not events and were omitted from ClickHouse',
      registers,
    }),
    messagesSent: new Counter({
      name: 'messages_total',
      help: 'Messages handed to providers, by outcome: sent, failed, or queued again',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
    messagesSkipped: new Counter({
      name: 'messages_skipped_total',
      help: 'Messages that the gate did not let pass, when they were made or were about to be sent, by error code',
      labelNames: ['channel', 'code'],
      registers,
    }),
    campaignRows: new Counter({
      name: 'campaign_rows_total',
      help: 'Messages of campaigns that were made, also those that were skipped or held out at once',
      registers,
    }),
    fenceWait: new Histogram({
      name: 'fence_wait_seconds',
      help: 'Time that messages, calls of webhooks or grants waited for the fold before they were decided',
      buckets: [0.005, 0.02, 0.1, 0.5, 2.5, 10],
      registers,
    }),
    triggerEvents: new Counter({
      name: 'trigger_events_total',
      help: 'Events that may fire a campaign, by decision: fired, refused, or failed (given up)',
      labelNames: ['outcome'],
      registers,
    }),
    triggerFailures: new Counter({
      name: 'trigger_failures_total',
      help: 'Attempts to decide events of a campaign that failed and are repeated',
      registers,
    }),
    triggerWaiting: new Gauge({
      name: 'trigger_events_waiting',
      help: 'Events that wait for the decision whether they fire a campaign, counted up to 100,000',
      registers,
    }),
    triggerWaitingAge: new Gauge({
      name: 'trigger_events_age_seconds',
      help: 'Age of the oldest event that waits for the decision whether it fires a campaign',
      registers,
    }),
    journeyRunsMoved: new Counter({
      name: 'journey_runs_moved_total',
      help: 'Runs of journeys that went on, by what they do now: resting, completed, failed, cancelled, held, or postponed',
      labelNames: ['outcome'],
      registers,
    }),
    journeySteps: new Counter({
      name: 'journey_steps_total',
      help: 'Steps that moved runs of journeys, by the type of their node and their status: completed, skipped, or failed',
      labelNames: ['type', 'outcome'],
      registers,
    }),
    journeyEntries: new Counter({
      name: 'journey_entries_total',
      help: 'Entries into journeys, by outcome: started, held_out, refused (re-entry), or limited (dropped)',
      labelNames: ['outcome'],
      registers,
    }),
    journeyBatchSeconds: new Histogram({
      name: 'journey_batch_seconds',
      help: 'Time per batch of runs that go on',
      buckets: [0.005, 0.02, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),
    journeyTimerLag: new Gauge({
      name: 'journey_timer_lag_seconds',
      help: 'How long ago the oldest run came due that has not gone on',
      registers,
    }),
    journeyMatches: new Counter({
      name: 'journey_matches_total',
      help: 'Runs of journeys that an event woke or ended, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    journeyRunsStuck: new Counter({
      name: 'journey_runs_stuck_total',
      help: 'Runs that had no timer, by outcome: helped (it was set again), or failed (found again)',
      labelNames: ['outcome'],
      registers,
    }),
    journeyQuestionsFailed: new Counter({
      name: 'journey_questions_failed_total',
      help: 'Questions of branches about players that failed and are repeated',
      registers,
    }),
    journeyQuestionsBehind: new Counter({
      name: 'journey_questions_behind_total',
      help: 'Runs whose cashback waits because ClickHouse did not have all bets of the player',
      registers,
    }),
    providerRest: new Gauge({
      name: 'messaging_provider_rest_seconds',
      help: 'Length of the present rest of a messaging provider that fails; absent while it works or has nothing to send',
      labelNames: ['provider_id', 'kind'],
      registers,
    }),
    messageHandOver: new Histogram({
      name: 'message_hand_over_seconds',
      help: 'Time from the moment that the gate looks at until a message is handed to its provider',
      labelNames: ['channel'],
      buckets: [0.02, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
      registers,
    }),
    webhookAttempts: new Counter({
      name: 'webhook_attempts_total',
      help: 'Attempts to deliver webhooks, by outcome: delivered, retry, failed, or stopped; not made: barred, behind',
      labelNames: ['outcome'],
      registers,
    }),
    webhookDeliveries: new Counter({
      name: 'webhook_deliveries_total',
      help: 'Deliveries of webhooks that have ended, by outcome: delivered, failed, or cancelled',
      labelNames: ['outcome'],
      registers,
    }),
    webhookPending: new Gauge({
      name: 'webhook_deliveries_pending',
      help: 'Webhooks that are not delivered yet, of the 20 hosts with the most, counted up to 10,000',
      labelNames: ['host'],
      registers,
    }),
    adapterCalls: new Counter({
      name: 'adapter_calls_total',
      help: 'Calls of casino platforms, by what they answered: as in the documentation of the call, unsent or unknown',
      labelNames: ['adapter', 'call', 'outcome'],
      registers,
    }),
    adapterCallSeconds: new Histogram({
      name: 'adapter_call_seconds',
      help: 'Time per call of a casino platform that was made',
      labelNames: ['adapter'],
      buckets: [0.02, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    adapterRequestSeconds: new Histogram({
      name: 'adapter_request_seconds',
      help: 'Time per call of a casino platform that was made, by what it answered as in adapter_calls_total, or late',
      labelNames: ['adapter', 'outcome'],
      buckets: [0.02, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    adapterCredentialsRefused: new Gauge({
      name: 'adapter_credentials_refused',
      help: '1 while a casino platform refuses our signature or token',
      labelNames: ['adapter'],
      registers,
    }),
    adapterCircuitOpen: new Gauge({
      name: 'adapter_circuit_open',
      help: '1 while a casino platform is not called because 20 calls in a row had no known outcome',
      labelNames: ['adapter'],
      registers,
    }),
    webhookConflictingReplay: new Counter({
      name: 'webhook_conflicting_replay',
      help: 'Webhooks of casino platforms under an id that another webhook had before',
      labelNames: ['adapter'],
      registers,
    }),
    webhookUnknownEvents: new Counter({
      name: 'webhook_unknown_events_total',
      help: 'Webhooks of casino platforms with the name of an event that does not exist; they change nothing',
      labelNames: ['adapter'],
      registers,
    }),
    bonusLotsUndone: new Counter({
      name: 'bonus_lots_undone_total',
      help: 'Groups of requests about bonuses whose shared transaction was rolled back; each request then ran alone',
      labelNames: ['work'],
      registers,
    }),
    bonusDepositsReversed: new Counter({
      name: 'bonus_deposits_reversed_total',
      help: 'Live bonuses that were marked for review because their deposit was reversed to 0',
      registers,
    }),
    wageringRefused: new Counter({
      name: 'bonus_wagering_bets_refused_total',
      help: 'Bets that could not be counted for bonuses, because of their data, and were omitted',
      registers,
    }),
    segmentChanges: new Counter({
      name: 'segment_changes_total',
      help: 'Players that entered or left segments, as published to ClickHouse and the log',
      labelNames: ['change'],
      registers,
    }),
    segmentRefreshes: new Histogram({
      name: 'segment_refresh_seconds',
      help: 'Time per refresh of a segment, by outcome',
      labelNames: ['outcome'],
      buckets: [0.05, 0.2, 1, 5, 20, 60],
      registers,
    }),
    segmentScheduleLag: new Gauge({
      name: 'segment_schedule_lag_seconds',
      help: 'The largest delay among the segments that the last scheduling run queued for refresh',
      registers,
    }),
    segmentEvaluationSeconds: new Histogram({
      name: 'segment_evaluation_seconds',
      help: 'Time per evaluation of dirty players in their realtime segments',
      buckets: [0.02, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
    segmentEvaluationsRefused: new Counter({
      name: 'segment_evaluations_refused_total',
      help: 'Evaluations of a single realtime segment that failed, so that it is quarantined',
      registers,
    }),
    segmentsQuarantined: new Gauge({
      name: 'segments_set_aside',
      help: 'What failed and is tried again alone: evaluations and refreshes of segments, and passing windows',
      labelNames: ['step'],
      registers,
    }),
    segmentDirtyAge: new Gauge({
      name: 'segment_dirty_age_seconds',
      help: 'Age of the oldest dirty player that waits for evaluation; without those that wait for a certain segment',
      registers,
    }),
    rowsMirrored: new Counter({
      name: 'mirror_rows_total',
      help: 'Player rows written to ClickHouse',
      registers,
    }),
    rowsRestated: new Counter({
      name: 'ledger_rows_restated_total',
      help: 'Ledger rows converted again after a rate was added, changed or removed',
      registers,
    }),
    restatementsRefused: new Counter({
      name: 'ledger_restatements_refused_total',
      help: 'Ledger rows not restated because a total would exceed 64 bits',
      registers,
    }),
    eventsCorrected: new Counter({
      name: 'events_corrected_total',
      help: 'Event rows written again in ClickHouse because their money changed',
      registers,
    }),
    horizonAge: new Gauge({
      name: 'postgres_horizon_age_seconds',
      help: 'Age of the oldest transaction that holds back the mirrors and vacuum; NaN while it is unknown',
      registers,
    }),
    eventStreamViewers: new Gauge({
      name: 'event_stream_viewers',
      help: 'Streams of live events that are open',
      registers,
    }),
    eventStreamSkipped: new Counter({
      name: 'event_stream_skipped_total',
      help: 'Events that a stream of live events did not show, because there were too many or its viewer was slow',
      registers,
    }),
    jobs: new Counter({
      name: 'jobs_total',
      help: 'Job attempts by outcome: done, failed (retried later) or given_up',
      labelNames: ['task', 'outcome'],
      registers,
    }),
    staleAnswers: new Counter({
      name: 'stale_answers_total',
      help: 'API keys and tenant configurations used as last known, because Postgres did not answer',
      labelNames: ['cache'],
      registers,
    }),
    rateLimiterDegraded: new Gauge({
      name: 'rate_limiter_degraded',
      help: '1 while Redis does not answer and limits are decided locally',
      registers,
    }),
  };
}
