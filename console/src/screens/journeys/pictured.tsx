import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, type ReactNode } from 'react';
import { t } from '../../messages/t.ts';
import { Field } from '../../ui/field.tsx';
import { Loading } from '../../ui/states.tsx';
import type { Graph } from './graph.ts';
import css from './journeys.module.css';
import type { NameOf } from './words.ts';

const m = t.journeys;
const Canvas = lazy(() => import('./canvas.tsx'));
const VIEWS = ['both', 'list', 'canvas'] as const;
type View = (typeof VIEWS)[number];

interface PictureProps {
  graph: Graph;
  nameOf: NameOf;
  notes: ReadonlyMap<string, string>;
  wrong: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (id: string) => void;
}

interface PicturedProps extends PictureProps {
  view: View;
  /** The list. */
  children: ReactNode;
}

const route = getRouteApi('/journeys/$id');

/** Whether list, canvas or both are shown; it is in the address. */
export function useView(): View {
  const { view } = route.useSearch();
  return VIEWS.find((one) => one === view) ?? 'both';
}

export function ViewChoice({ view }: { view: View }) {
  const navigate = useNavigate({ from: '/journeys/$id' });
  return (
    <div className={css['chosen']}>
      <Field label={m.view}>
        {(control) => (
          <select
            {...control}
            value={view}
            onChange={({ target }) => {
              const chosen = target.value === 'both' ? undefined : target.value;
              void navigate({ search: (before) => ({ ...before, view: chosen }) });
            }}
          >
            {VIEWS.map((one) => (
              <option key={one} value={one}>
                {m.views[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}

/** The list next to the canvas, which draws the same graph. What is selected in the canvas is brought into view in the list. */
export function Pictured({ view, children, ...picture }: PicturedProps) {
  const { selected } = picture;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (selected === undefined) return;
    list.current
      ?.querySelector(`[data-node="${CSS.escape(selected)}"]`)
      ?.firstElementChild?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  return (
    <div className={view === 'both' ? css['both'] : undefined}>
      {view === 'canvas' ? null : <div ref={list}>{children}</div>}
      {view === 'list' ? null : <Picture {...picture} />}
    </div>
  );
}

/** The canvas, which is loaded apart. */
export function Picture(props: PictureProps) {
  return (
    <div className={css['picture']}>
      <Suspense fallback={<Loading what={m.canvas.loading} />}>
        <Canvas {...props} />
      </Suspense>
    </div>
  );
}
