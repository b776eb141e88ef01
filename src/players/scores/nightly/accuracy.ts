import type { ModelFit } from '../schema.ts';

/** A predicted chance to return, and whether the player did. */
export interface Prediction {
  chance: number;
  has_returned: boolean;
}

/** The mean squared error of predicted chances: 0 is perfect. 0 for none. */
export function brierOf(predictions: readonly Prediction[]): number {
  const sum = predictions.reduce(
    (all, { chance, has_returned }) => all + (chance - Number(has_returned)) ** 2,
    0,
  );
  return predictions.length === 0 ? 0 : sum / predictions.length;
}

/**
 * The chance that of two players, one who returned and one who did not, the first had the higher prediction; equal ones count
 * half. Null: all returned, or none.
 */
export function aucOf(predictions: readonly Prediction[]): number | null {
  const sorted = predictions.toSorted((a, b) => a.chance - b.chance);
  const returned = sorted.filter(({ has_returned }) => has_returned).length;
  const others = sorted.length - returned;
  if (returned === 0 || others === 0) return null;
  let ranks = 0;
  for (let from = 0; from < sorted.length;) {
    let to = from;
    let of_returned = 0;
    for (; to < sorted.length && sorted[to]?.chance === sorted[from]?.chance; to++) {
      if (sorted[to]?.has_returned === true) of_returned++;
    }
    // The mean of the ranks from + 1 to `to`.
    ranks += (of_returned * (from + 1 + to)) / 2;
    from = to;
  }
  return (ranks - (returned * (returned + 1)) / 2) / (returned * others);
}

const BINS = 10;

/** Predictions by tenths of the predicted chance; tenths without predictions are absent. */
export function calibrationOf(predictions: readonly Prediction[]): ModelFit['calibration'] {
  const bins = Array.from({ length: BINS }, () => ({ players: 0, predicted: 0, returned: 0 }));
  for (const { chance, has_returned } of predictions) {
    const bin = bins[Math.min(BINS - 1, Math.floor(chance * BINS))];
    if (bin === undefined) continue;
    bin.players++;
    bin.predicted += chance;
    bin.returned += Number(has_returned);
  }
  return bins.flatMap(({ players, predicted, returned }, i) =>
    players === 0
      ? []
      : [
          {
            from: i / BINS,
            to: (i + 1) / BINS,
            players,
            predicted: predicted / players,
            returned: returned / players,
          },
        ],
  );
}
