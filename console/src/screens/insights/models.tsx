import { Link } from '@tanstack/react-router';
import { useRead } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import css from './insights.module.css';
import { ScoreModel } from './score-model.tsx';
import { SendTimes } from './send-time-model.tsx';

const m = t.models;

/** The models of the service in the project: which are on, by which proof, and where other scores come from. */
export function Models() {
  return (
    <Page title={m.title}>
      <p className={css['soft']}>{m.help}</p>
      <Answered asked={useRead('models.list', [])} what={m.loading}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={m.none}>
              <p>{m.noneHelp}</p>
            </Empty>
          ) : (
            data.map((one) =>
              one.model === 'default' ? (
                <ScoreModel key={one.model} model={one} />
              ) : (
                <SendTimes key={one.model} model={one} />
              ),
            )
          )
        }
      </Answered>
      <section className={css['part']} aria-label={m.own.title}>
        <h2>{m.own.title}</h2>
        <p>{m.own.help}</p>
        <p>
          <Link to="/developers" search={({ project }) => ({ project, tab: 'reference', q: '/v1/scores' })}>
            {m.own.call}
          </Link>
        </p>
      </section>
    </Page>
  );
}
