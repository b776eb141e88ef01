import { Link, type LinkProps } from '@tanstack/react-router';
import { usePlace } from '../../api/place.tsx';
import { useList, useRead } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import css from './view.module.css';

const m = t.overview.setup;

/** One thing to set up; `done` undefined: not known yet, or the user may not see it. */
interface Step {
  key: keyof typeof m.steps;
  done: boolean | undefined;
  link: Pick<LinkProps, 'to' | 'search'>;
}

/** Whether a list has a row. */
const hasRows = ({ rows }: { rows: readonly unknown[] | undefined }) =>
  rows === undefined ? undefined : rows.length > 0;
const ONE = { page: 1 };

/** What an operator does before the first message, with what of it is done. Shown while the project has no events. */
export function Setup() {
  const { role, project_id } = usePlace();
  const is_admin = roleAllows(role, 'admin');
  const keys = useList('projects.apiKeys.list', [project_id, {}], { ...ONE, enabled: is_admin });
  const providers = useList('messagingProviders.list', [], ONE);
  const segments = useList('segments.list', [], ONE);
  const templates = useList('templates.list', [], ONE);
  const campaigns = useList('campaigns.list', [], ONE);
  const journeys = useList('journeys.list', [], ONE);
  const licence = useRead('compliance.licence', []).data?.data;
  const has_campaign = hasRows(campaigns);
  const has_journey = hasRows(journeys);
  const steps: Step[] = [
    {
      key: 'licence',
      done: licence === undefined ? undefined : licence.license_jurisdiction !== null,
      link: { to: '/settings' },
    },
    { key: 'key', done: hasRows(keys), link: { to: '/developers', search: { tab: 'keys' } } },
    { key: 'event', done: false, link: { to: '/developers', search: { tab: 'snippets' } } },
    { key: 'provider', done: hasRows(providers), link: { to: '/settings', search: { tab: 'providers' } } },
    { key: 'segment', done: hasRows(segments), link: { to: '/segments' } },
    { key: 'template', done: hasRows(templates), link: { to: '/templates' } },
    {
      key: 'campaign',
      done:
        has_campaign === true || has_journey === true
          ? true
          : has_campaign === undefined || has_journey === undefined
            ? undefined
            : false,
      link: { to: '/campaigns' },
    },
  ];
  const done = steps.filter((step) => step.done === true).length;
  return (
    <section className={css['setup']} aria-label={m.title}>
      <h2>{m.title}</h2>
      <p>{m.progress(done, steps.length)}</p>
      <ol>
        {steps.map(({ key, done: is_done, link }) => (
          <li key={key}>
            <Badge tone={is_done === true ? 'good' : 'neutral'}>{is_done === true ? m.done : m.open}</Badge>{' '}
            <Link {...link}>{m.steps[key].title}</Link>
            <p>{m.steps[key].text}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}
