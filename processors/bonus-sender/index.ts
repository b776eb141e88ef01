import { CampaignRelease } from '../../src/bonuses/campaigns/release.ts';
import { CampaignStarts } from '../../src/bonuses/campaigns/start-due.ts';
import { CampaignWork, type WorkDeps } from '../../src/bonuses/campaigns/work.ts';
import { ProtectionSweep } from '../../src/bonuses/grants/protection.ts';
import { publishGrantEvents } from '../../src/bonuses/grants/publish.ts';
import { Sender, type SenderDeps } from '../../src/bonuses/grants/sender.ts';
import { CompletionSweep } from '../../src/bonuses/wagering/completion.ts';
import { consumeBets } from '../../src/bonuses/wagering/consume.ts';
import { Recounter, type RecountDeps } from '../../src/bonuses/wagering/recount.ts';
import { startPolling } from '../../src/platform/poll-loop.ts';

/** The loops of a running bonus-sender. */
export interface RunningBonusSender {
  close(): Promise<void>;
}

/** The pause of a loop that found nothing: an idle service costs little, and what comes waits for it only shortly. */
const IDLE_PAUSE_MS = 250;
/** The pause of the release of campaigns: unused time of their rates is kept for 250 ms. */
const RELEASE_PAUSE_MS = 100;
/** How long the sweep rests after it has seen all grants. */
const SWEEP_PAUSE_MS = 5_000;
/** How long the look for grants whose wagering is met without a new bet rests after each page. */
const COMPLETION_PAUSE_MS = 500;

/**
 * bonus-sender: members of bonus campaigns → grants; grants that are due → their platforms → what they answer; events of
 * grants → `player-events`; live grants of players who are protected now → cancelled or marked; bets → wagering. Several
 * may run: each call belongs to one of them, and after a crash its outcome is asked for.
 */
export async function startBonusSender(
  deps: SenderDeps & RecountDeps & WorkDeps,
): Promise<RunningBonusSender> {
  const { logger } = deps;
  const pauses = { logger, longest_pause_ms: 5_000, idle_pause_ms: IDLE_PAUSE_MS };
  const sender = new Sender(deps);
  const sweep = new ProtectionSweep(deps);
  const recounter = new Recounter(deps);
  const starts = new CampaignStarts(deps);
  const completion = new CompletionSweep(deps);
  const campaigns = new CampaignWork(deps);
  const release = new CampaignRelease(deps);
  const campaign_loop = startPolling({ name: 'bonus-campaigns', ...pauses }, (stop) => campaigns.turn(stop));
  campaigns.onMore = () => campaign_loop.wake();
  const sending = startPolling({ name: 'bonus-sender', ...pauses }, (stop) => sender.turn(stop));
  sender.onFree = () => sending.wake();
  release.onReleased = () => sending.wake();
  const loops = [
    campaign_loop,
    sending,
    startPolling({ name: 'bonus-campaign-starts', ...pauses }, (stop) => starts.turn(stop)),
    startPolling({ name: 'bonus-campaign-release', ...pauses, idle_pause_ms: RELEASE_PAUSE_MS }, (stop) =>
      release.turn(stop),
    ),
    startPolling({ name: 'bonus-events', ...pauses }, () => publishGrantEvents(deps)),
    startPolling({ name: 'bonus-protection', ...pauses, idle_pause_ms: SWEEP_PAUSE_MS }, () => sweep.turn()),
    startPolling({ name: 'bonus-recount', ...pauses }, (stop) => recounter.turn(stop)),
    startPolling({ name: 'bonus-look-up', ...pauses, idle_pause_ms: 500 }, (stop) => recounter.lookUp(stop)),
    startPolling({ name: 'bonus-completion', ...pauses, idle_pause_ms: COMPLETION_PAUSE_MS }, async () => {
      await completion.turn();
      return false;
    }),
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
