import { counted } from './shell.ts';

const runs = (count: number) => counted(count, 'run', 'runs');

/** The texts of the dialog that moves runs to another version. */
export const journeyMoves = {
  open: 'Move runs…',
  title: (name: string) => `Move runs of “${name}” to another version`,
  text: 'Runs stay on the version on which they began, until they are moved. A run keeps its step, or goes to one of the same kind.',
  from: 'From version',
  to: 'To version',
  steps: 'Steps of the old version',
  step: 'Step',
  becomes: 'In the new version',
  runs: 'Runs now',
  same: 'the same step',
  targetOf: (step: string) => `Where runs at “${step}” go`,
  nowhere: 'has no place',
  noTarget: 'has no place: there is no step of its kind',
  unmapped: 'Runs whose step has no place',
  unmappedWays: { stay: 'stay on the old version', exit: 'leave the journey' },
  recompute: 'Count waits anew: by the durations of the new version, from when the run came to the step',
  count: 'Count the runs',
  counting: 'Counting…',
  countFirst: 'Count the runs first; nothing happens to them.',
  result: ({ moved, stayed, exited }: { moved: number; stayed: number; exited: number }) =>
    `${runs(moved)} would move, ${runs(stayed)} would stay, ${runs(exited)} would leave the journey.`,
  act: 'Move the runs…',
  confirmTitle: (name: string, from: number, to: number) =>
    `Move the runs of “${name}” from version ${from} to ${to}?`,
  confirmVerb: (moved: number, exited: number) =>
    moved === 0 ? `End ${runs(exited)}` : `Move ${runs(moved)}`,
  confirmMoved: (count: number) =>
    `${runs(count)} ${count === 1 ? 'goes' : 'go'} on by the steps of the new version.`,
  confirmExited: (count: number) =>
    `${runs(count)} ${count === 1 ? 'ends' : 'end'} where ${count === 1 ? 'it stands' : 'they stand'}. This cannot be undone.`,
  confirmStayed: (count: number) => `${runs(count)} ${count === 1 ? 'stays' : 'stay'} as before.`,
  confirmRecompute: 'Their waits are counted again. Runs that are then due go on at once.',
  done: ({ moved, stayed, exited }: { moved: number; stayed: number; exited: number }) =>
    `Done: ${runs(moved)} moved, ${runs(stayed)} stayed, ${runs(exited)} left the journey.`,
};
