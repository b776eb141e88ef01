import { counted } from './shell.ts';

const runs = (count: number) => counted(count, 'run', 'runs');

/** The texts of the dialogs that do something with a journey. */
export const journeyActs = {
  activate: 'Activate',
  activateTitle: (name: string) => `Activate “${name}”?`,
  activateText: (trigger: string) => `From now on runs start for players with: ${trigger}.`,
  activateExisting:
    'Players who are in the segment now enter, too, unless those of an earlier activation did.',
  activateVersion: (version: number) => `The last saved draft becomes version ${version}.`,
  activateUses: 'It uses:',
  resume: 'Runs that came due while the journey was held',
  resumes: { run: 'go on', skip: 'are cancelled' },
  hinders: 'Fix these first:',
  pause: 'Pause',
  pauseTitle: (name: string) => `Pause “${name}”?`,
  pauseText: 'Nothing starts runs while it is paused; what would have started one is lost.',
  pauseRuns: (count: number) =>
    `${runs(count)} ${count === 1 ? 'is' : 'are'} running. Without a hold ${count === 1 ? 'it goes' : 'they go'} on and may send messages.`,
  hold: 'Hold the runs, too: they do nothing until it is activated again',
  trigger: 'Trigger',
  triggerTitle: (name: string) => `Start a run of “${name}”`,
  triggerText:
    'The rules about entering are ignored. Messages go to the player for real, after the usual checks.',
  context: 'Context as JSON',
  contextHint: 'Templates have it as {{journey.context}}',
  started: 'The run has started.',
  showRun: 'Show it',
  archive: 'Delete',
  archiveTitle: (name: string) => `Delete the journey “${name}”?`,
  archiveVerb: (name: string) => `Delete “${name}”`,
  archiveText:
    'Nothing starts runs any more. Its runs so far, its versions and its numbers can still be read.',
  archiveRuns: (count: number) =>
    count === 0
      ? 'No run is running.'
      : `${runs(count)} ${count === 1 ? 'is' : 'are'} running and will be cancelled, with everything that waits to be sent for them.`,
  archiveUses: 'These records are not changed:',
  usesNothing: 'It uses no template, segment or bonus.',
  simulate: 'Simulate',
  publish: (version: number) => `Publish version ${version}`,
  publishTitle: (name: string) => `Publish what was saved last of “${name}”?`,
  publishText: (version: number) => `It becomes version ${version}, which new runs use from now on.`,
  publishRuns: (count: number) =>
    `${runs(count)} ${count === 1 ? 'is' : 'are'} running and ${count === 1 ? 'stays' : 'stay'} on the version on which ${count === 1 ? 'it' : 'they'} began.`,
  publishDifference: 'Show the difference',
};
