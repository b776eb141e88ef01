import { CampaignRelease } from '../../src/bonuses/campaigns/release.ts';
import { CampaignStarts } from '../../src/bonuses/campaigns/start-due.ts';
import { CampaignWork, type WorkDeps } from '../../src/bonuses/campaigns/work.ts';
import { ProtectionSweep } from '../../src/bonuses/grants/protection.ts';
import { GRANT_EVENTS } from '../../src/bonuses/grants/publish.ts';
import { Sender, type SenderDeps } from '../../src/bonuses/grants/sender.ts';
import { CompletionSweep } from '../../src/bonuses/wagering/completion.ts';
import { consumeBets } from '../../src/bonuses/wagering/consume.ts';
import { Recounter, type RecountDeps } from '../../src/bonuses/wagering/recount.ts';
import { bonusCampaignWork, selectDueBonusCampaigns } from '../../src/bonuses/campaigns/work-queries.ts';
import { releaseWork } from '../../src/bonuses/campaigns/release-queries.ts';
import { selectToPublish } from '../../src/bonuses/grants/publish-queries.ts';
import { senderWork } from '../../src/bonuses/grants/call-queries.ts';
import { completionWork } from '../../src/bonuses/wagering/completion-queries.ts';
import { recountWork, selectToLookUp } from '../../src/bonuses/wagering/recount-queries.ts';
import { MAX_AHEAD_MS } from '../../src/platform/timestamp.ts';
import { NIL_ID } from '../../src/platform/ids.ts';
import { publishOutbox } from '../../src/platform/outbox.ts';
import type { Platform } from '../../src/platform/platform.ts';
import type { WorkQuery } from '../../src/platform/postgres/work-watch.ts';
import { startPolling, type Turned } from '../../src/platform/poll-loop.ts';

/** The loops of a running bonus-sender. */
export interface RunningBonusSender {
  close(): Promise<void>;
}

/** The pause of a loop that found nothing: an idle service costs little, and what comes waits for it only shortly. */
const IDLE_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** The pause of the release of campaigns: with the wait for work it is below the 250 ms for which a rate is kept. */
const RELEASE_PAUSE_MS = 50;
/** How long the sweep rests after it has seen all grants; between pages it rests by itself. */
const SWEEP_PAUSE_MS = 5_000;
/** How long the look for grants whose wagering is met without a new bet rests after each page. */
const COMPLETION_PAUSE_MS = 500;

const dueStarts: WorkQuery = (sql, now) => selectDueBonusCampaigns(sql, now, 1);
const toPublish: WorkQuery = (sql) => selectToPublish(sql, 1);
const unrecorded: WorkQuery = (sql) => selectToLookUp(sql, NIL_ID, 1, MAX_AHEAD_MS);

/**
 * bonus-sender: members of bonus campaigns → grants; grants that are due → their platforms → what they answer; events of
 * grants → `player-events`; live grants of players who are protected now → cancelled or marked; bets → wagering. Several
 * may run: each call belongs to one of them, and after a crash its outcome is asked for.
 */
export async function startBonusSender(
  deps: SenderDeps & RecountDeps & WorkDeps & Pick<Platform, 'workWatch'>,
): Promise<RunningBonusSender> {
  const { logger, clock, workWatch } = deps;
  const poll = (
    name: string,
    query: WorkQuery,
    turn: (stop: AbortSignal) => Promise<Turned>,
    idle_pause_ms = IDLE_PAUSE_MS,
  ) => {
    const work = workWatch.watch(query, clock);
    return startPolling({ name, logger, work, idle_pause_ms, longest_pause_ms: LONGEST_PAUSE_MS }, turn);
  };
  const sender: Sender = new Sender(deps, () => sending.wake());
  const sweep = new ProtectionSweep(deps);
  const recounter = new Recounter(deps);
  const uncounted = recountWork(() => recounter.has_more_without_rate);
  const starts = new CampaignStarts(deps);
  const completion = new CompletionSweep(deps);
  const campaigns = new CampaignWork(deps);
  const release = new CampaignRelease(deps);
  const campaign_loop = poll('bonus-campaigns', bonusCampaignWork, (stop) => campaigns.turn(stop));
  campaigns.onMore = () => campaign_loop.wake();
  const sending = poll('bonus-sender', senderWork, (stop) => sender.turn(stop));
  release.onReleased = () => sending.wake();
  const loops = [
    campaign_loop,
    sending,
    poll('bonus-campaign-starts', dueStarts, (stop) => starts.turn(stop)),
    poll('bonus-campaign-release', releaseWork, (stop) => release.turn(stop), RELEASE_PAUSE_MS),
    poll('bonus-events', toPublish, () => publishOutbox(deps, GRANT_EVENTS)),
    startPolling(
      {
        name: 'bonus-protection',
        logger,
        idle_pause_ms: SWEEP_PAUSE_MS,
        longest_pause_ms: LONGEST_PAUSE_MS,
      },
      (stop) => sweep.turn(stop),
    ),
    poll('bonus-recount', uncounted, (stop) => recounter.turn(stop)),
    poll('bonus-look-up', unrecorded, (stop) => recounter.lookUp(stop), 500),
    poll('bonus-completion', completionWork, () => completion.turn().then(() => false), COMPLETION_PAUSE_MS),
  ];
  const bets = await consumeBets(deps);
  return {
    async close() {
      await bets.close();
      await Promise.all(loops.map((loop) => loop.close()));
      await Promise.all([sender.close(), campaigns.close(), release.close()]);
    },
  };
}
