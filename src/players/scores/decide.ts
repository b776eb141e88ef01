import { DEFAULT_MODEL } from '../profile/score-models.ts';

/** The scores that a player has, and which model has computed each from what was known when; null: none has. */
export interface StoredScores {
  churn_score: number;
  churn_model: string | null;
  churn_as_of: Date | null;
  /** In the smallest unit of the base currency. */
  ltv_predicted: number | null;
  ltv_model: string | null;
  ltv_as_of: Date | null;
}

/** Scores of an operator for one player; what is undefined is not said. */
export interface OwnScores {
  churn_score?: number | undefined;
  ltv_predicted?: number | null | undefined;
}

/** What became of the scores of an operator. `stale`: the player has newer ones of the operator. */
export type OwnVerdict = 'written' | 'unchanged' | 'stale';

/** What an operator's scores change. */
export interface OwnDecision {
  verdict: OwnVerdict;
  /** Scores to be written; undefined: nothing changes. */
  changed: StoredScores | undefined;
}

/**
 * What an operator's scores change. Each of the two scores counts on its own: an older one never replaces a newer one of the
 * operator, and any replaces the service's own. The verdict is `written` if one was.
 */
export function decideOwn(stored: StoredScores, given: OwnScores, model: string, as_of: Date): OwnDecision {
  const next = { ...stored };
  let verdict: OwnVerdict = 'unchanged';
  const isStale = (by: string | null, at: Date | null) => isOwn(by) && at !== null && at > as_of;
  const isSame = (by: string | null, at: Date | null) => by === model && at?.getTime() === as_of.getTime();
  if (given.churn_score !== undefined) {
    if (isStale(stored.churn_model, stored.churn_as_of)) verdict = 'stale';
    else if (!isSame(stored.churn_model, stored.churn_as_of) || stored.churn_score !== given.churn_score) {
      Object.assign(next, { churn_score: given.churn_score, churn_model: model, churn_as_of: as_of });
    }
  }
  if (given.ltv_predicted !== undefined) {
    if (isStale(stored.ltv_model, stored.ltv_as_of)) verdict = 'stale';
    else if (!isSame(stored.ltv_model, stored.ltv_as_of) || stored.ltv_predicted !== given.ltv_predicted) {
      Object.assign(next, { ltv_predicted: given.ltv_predicted, ltv_model: model, ltv_as_of: as_of });
    }
  }
  return isSameScores(next, stored) ? { verdict, changed: undefined } : { verdict: 'written', changed: next };
}

function isSameScores(a: StoredScores, b: StoredScores): boolean {
  return (
    a.churn_model === b.churn_model &&
    a.ltv_model === b.ltv_model &&
    a.churn_score === b.churn_score &&
    a.ltv_predicted === b.ltv_predicted &&
    a.churn_as_of?.getTime() === b.churn_as_of?.getTime() &&
    a.ltv_as_of?.getTime() === b.ltv_as_of?.getTime()
  );
}

/** Scores of the service's own model; undefined: the model has none for the player. */
export interface DefaultScores {
  churn_score: number;
  /** Null: the player is excluded, or what is deposited says nothing about revenue. */
  ltv_predicted: number | null;
}

/** A smaller change is not written: a churn score by so much, a predicted value by so much of itself. */
const MIN_CHANGE = 0.01;
/** Of differences of doubles. */
const ROUNDING = 1e-9;

/**
 * What the service's own scores change; undefined: nothing. They replace no score of the operator. Without scores those of
 * an earlier night are taken away.
 */
export function decideDefault(
  stored: StoredScores,
  computed: DefaultScores | undefined,
  as_of: Date,
): StoredScores | undefined {
  const next = { ...stored };
  if (!isOwn(stored.churn_model)) {
    if (computed === undefined) {
      if (stored.churn_model !== null)
        Object.assign(next, { churn_score: 0, churn_model: null, churn_as_of: null });
    } else if (
      stored.churn_model === null ||
      Math.abs(stored.churn_score - computed.churn_score) >= MIN_CHANGE - ROUNDING
    ) {
      Object.assign(next, {
        churn_score: computed.churn_score,
        churn_model: DEFAULT_MODEL,
        churn_as_of: as_of,
      });
    }
  }
  if (!isOwn(stored.ltv_model)) {
    const ltv_predicted = computed?.ltv_predicted ?? null;
    if (ltv_predicted === null) {
      if (stored.ltv_model !== null)
        Object.assign(next, { ltv_predicted: null, ltv_model: null, ltv_as_of: null });
    } else if (stored.ltv_model === null || hasMoved(stored.ltv_predicted, ltv_predicted)) {
      Object.assign(next, { ltv_predicted, ltv_model: DEFAULT_MODEL, ltv_as_of: as_of });
    }
  }
  return isSameScores(next, stored) ? undefined : next;
}

function hasMoved(before: number | null, after: number): boolean {
  if (before === null || !Number.isFinite(before)) return true;
  return before !== after && Math.abs(after - before) >= MIN_CHANGE * Math.abs(before) - ROUNDING;
}

function isOwn(model: string | null): boolean {
  return model !== null && model !== DEFAULT_MODEL;
}
