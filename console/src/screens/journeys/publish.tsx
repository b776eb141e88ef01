import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { shortName, Uses, type ActProps } from './acts.tsx';
import { graphOf } from './graph.ts';
import css from './journeys.module.css';
import { useNames } from './names.ts';
import { useStats, type JourneyIssue, type JourneyRecord } from './queries.ts';
import { triggerText } from './words.ts';

const m = t.journeys.acts;

/** Warnings that hinder nothing. */
const HARMLESS = new Set(['UNREACHABLE_NODE', 'NO_WAIT_BETWEEN_SENDS', 'TIMEOUT_SAME_AS_NEXT']);

/** What must be mended before activation. */
export function hindrancesOf({ warnings }: JourneyRecord): readonly JourneyIssue[] {
  return (warnings ?? []).filter(({ code }) => !HARMLESS.has(code));
}

/** Asks before the journey is activated: what starts runs, what it uses, and what happens to runs that were held. */
export function Activate({ journey, onClose }: ActProps) {
  const { id, trigger, settings, hold, draft_version } = journey;
  const [key] = useState(newActionKey);
  const [resume, setResume] = useState<'run' | 'skip'>('run');
  const act = useChange('journeys.activate');
  const graph = graphOf(journey.graph);
  const nameOf = useNames(trigger, graph, settings);
  const hindrances = hindrancesOf(journey);
  return (
    <Dialog
      title={m.activateTitle(shortName(journey.name))}
      onClose={onClose}
      mayClose={() => !act.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={act.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button
            kind="primary"
            disabled={act.isPending || hindrances.length > 0}
            onClick={() =>
              act.mutate({ inputs: [id, { resume }], idempotency_key: key }, { onSuccess: onClose })
            }
          >
            {act.isPending ? t.confirm.busy : m.activate}
          </Button>
        </>
      }
    >
      <p>
        <bdi>{m.activateText(triggerText(trigger, nameOf))}</bdi>
      </p>
      {trigger['existing_members'] === true ? <p>{m.activateExisting}</p> : null}
      {draft_version === null ? null : <p>{m.activateVersion(draft_version)}</p>}
      <Hindrances issues={hindrances} />
      {hold ? (
        <Field label={m.resume}>
          {(control) => (
            <select
              {...control}
              value={resume}
              onChange={({ target }) => setResume(target.value === 'skip' ? 'skip' : 'run')}
            >
              <option value="run">{m.resumes.run}</option>
              <option value="skip">{m.resumes.skip}</option>
            </select>
          )}
        </Field>
      ) : null}
      <p>{m.activateUses}</p>
      <Uses journey={journey} />
      {act.error === null ? null : <Failed error={act.error} />}
    </Dialog>
  );
}

/** Issues with the steps that they are about. */
export function Issues({ issues }: { issues: readonly JourneyIssue[] }) {
  return (
    <ul>
      {issues.map(({ path, code, message, node_id }) => (
        <li key={`${path} ${code} ${message}`}>
          <code>{node_id ?? path}</code> {message}
        </li>
      ))}
    </ul>
  );
}

/** Asks before what was saved last of an active journey goes live. */
export function PublishDraft({ journey, onClose }: ActProps) {
  const { id, draft_version } = journey;
  const [key] = useState(newActionKey);
  const stats = useStats(id);
  const act = useChange('journeys.versions.publish');
  const hindrances = hindrancesOf(journey);
  // Once published, there is no draft any more.
  const [version] = useState(draft_version ?? 0);
  return (
    <Confirm
      title={m.publishTitle(shortName(journey.name))}
      verb={m.publish(version)}
      busy={act.isPending}
      error={act.error}
      onClose={onClose}
      onConfirm={() =>
        act.mutate({ inputs: [id, String(version)], idempotency_key: key }, { onSuccess: onClose })
      }
    >
      <p>{m.publishText(version)}</p>
      <Hindrances issues={hindrances} />
      <Answered asked={stats} what={t.journeys.loadingStats}>
        {({ data }) => <p>{m.publishRuns(data.runs.running)}</p>}
      </Answered>
      <Link
        to="/journeys/$id"
        params={{ id }}
        search={(before) => ({ ...before, tab: 'versions', from: undefined, to: undefined })}
        onClick={onClose}
      >
        {m.publishDifference}
      </Link>
    </Confirm>
  );
}

function Hindrances({ issues }: { issues: readonly JourneyIssue[] }) {
  if (issues.length === 0) return null;
  return (
    <div className={css['problem']} role="alert">
      <p>{m.hinders}</p>
      <Issues issues={issues} />
    </div>
  );
}
