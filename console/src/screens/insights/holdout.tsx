import type { GlobalHoldout } from '@player-engagement/client/admin';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { useChange, useRead } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatPercent } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Effect } from '../../ui/effect.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';

const m = t.insights.holdout;
const MOST_PERCENT = 10;

/** The holdout of the project: whom nothing is sent, and what everything that is sent adds. */
export function Holdout() {
  const asked = useRead('experiments.global.get', [{}]);
  const may_set = roleAllows(usePlace().role, 'admin');
  const [changes, setChanges] = useState(false);
  const held = asked.data?.data;
  return (
    <Page
      title={m.title}
      actions={
        may_set && held !== undefined ? <Button onClick={() => setChanges(true)}>{m.change}</Button> : null
      }
    >
      <p>{m.help}</p>
      <Answered asked={asked} what={m.title}>
        {({ data: { holdout_percent, round, uplift } }) => (
          <>
            <Facts
              label={m.title}
              facts={[
                [m.share, formatPercent(holdout_percent / 100)],
                [m.begins, <Time key="begins" at={round?.begins_at ?? null} />],
                [m.ends, <Time key="ends" at={round?.ends_at ?? null} />],
              ]}
            />
            {uplift === null ? (
              <Empty title={t.effect.none} />
            ) : (
              <Effect asked={{ ...asked, data: { data: uplift } }} />
            )}
          </>
        )}
      </Answered>
      {changes && held !== undefined ? <Change held={held} onClose={() => setChanges(false)} /> : null}
    </Page>
  );
}

function Change({ held, onClose }: { held: GlobalHoldout; onClose: () => void }) {
  const save = useChange('experiments.global.set');
  const [text, setText] = useState(String(held.holdout_percent));
  const percent = Number(text);
  const is_ready = text.trim() !== '' && percent >= 0 && percent <= MOST_PERCENT;
  return (
    <ActDialog
      title={m.change}
      verb={t.form.save}
      busy={save.isPending}
      ready={is_ready && percent !== held.holdout_percent}
      error={save.error}
      onAct={() => save.mutate({ inputs: [{ holdout_percent: percent }] }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <Field label={t.effect.holdoutPercent} hint={m.changeHint}>
        {(control) => (
          <input
            {...control}
            type="number"
            min={0}
            max={MOST_PERCENT}
            step="any"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </ActDialog>
  );
}
