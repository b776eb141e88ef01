import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '@player-engagement/client/admin';
import { PlaceProvider } from '../api/place.tsx';
import { useOnline } from '../api/online.ts';
import { placesOf, sessionQuery, type Place, type Session } from '../api/session.ts';
import { useSessionEnded } from '../api/session-ended.ts';
import { ZoneProvider } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import { Icon } from '../ui/icon.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { useShortcuts } from '../ui/shortcuts.ts';
import { Header } from './header.tsx';
import { Help } from './help.tsx';
import { Invitations } from './invitations.tsx';
import { Palette } from './palette.tsx';
import { GROUPS, SCREENS } from './screens.ts';
import css from './shell.module.css';
import { SignIn, SignInAgain } from './sign-in.tsx';

/** The frame of every page: who is signed in, navigation, header, and the screen. */
export function Shell() {
  const session = useQuery({ ...sessionQuery, retry: (count, error) => isTemporary(error) && count < 3 });
  if (session.data !== undefined) return <SignedIn session={session.data} />;
  if (session.error === null) return <Loading what={t.signIn.checking} />;
  const error = session.error instanceof ApiError ? session.error : undefined;
  if (error === undefined || error.status === 401) return <SignIn />;
  return <Failed error={error} retry={() => void session.refetch()} />;
}

function isTemporary(error: Error): boolean {
  return error instanceof ApiError && error.is_temporary;
}

function SignedIn({ session }: { session: Session }) {
  const { project } = useSearch({ strict: false });
  const places = placesOf(session);
  const place = places.find(({ project_id }) => project_id === project) ?? places[0];
  const ended = useSessionEnded();
  if (place === undefined) {
    return (
      <main className={css['alone']}>
        <p>{t.signIn.noPlace}</p>
        <Invitations />
      </main>
    );
  }
  return (
    // Another project is another page: nothing of the former one stays in view.
    <PlaceProvider place={place} key={place.project_id}>
      <ZoneProvider operator={place.timezone}>
        <Frame session={session} place={place} places={places} />
        {ended ? <SignInAgain /> : null}
      </ZoneProvider>
    </PlaceProvider>
  );
}

/** In a narrow window the screens are a row, in which the current one is in view. */
const CURRENT = {
  'aria-current': 'page',
  ref: (link: HTMLAnchorElement | null) => link?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
} as const;

function Frame({ session, place, places }: { session: Session; place: Place; places: readonly Place[] }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<'palette' | 'help'>();
  useShortcuts((keys) => {
    if (keys === 'mod+k') setOpen('palette');
    else if (keys === '?') setOpen('help');
    else if (keys === '/') return focusSearch();
    else {
      const screen = SCREENS.find(({ letter }) => keys === `g ${letter}`);
      if (screen === undefined) return false;
      void navigate({ to: screen.path });
    }
    return true;
  });
  return (
    <div className={css['frame']}>
      <a className={css['skip']} href="#content">
        {t.nav.skip}
      </a>
      <div className={`${css['environment']} ${css[session.environment]}`}>
        {t.header.environments[session.environment]}
      </div>
      <Offline />
      <Header session={session} place={place} places={places} onSearch={() => setOpen('palette')} />
      <nav className={css['nav']} aria-label={t.nav.label}>
        {GROUPS.map(({ name: group, screens }) => (
          <div key={group} role="group" aria-label={group}>
            <span aria-hidden="true" className={css['group']}>
              {group}
            </span>
            {screens.map(({ path, name, icon }) => (
              <Link key={path} to={path} activeProps={CURRENT}>
                <Icon name={icon} /> {name}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <main id="content" className={css['main']} tabIndex={-1}>
        <Invitations />
        <Outlet />
      </main>
      {open === 'palette' ? (
        <Palette onClose={() => setOpen(undefined)} onHelp={() => setOpen('help')} />
      ) : null}
      {open === 'help' ? <Help onClose={() => setOpen(undefined)} /> : null}
    </div>
  );
}

/** Says that there is no network; screen readers read it when it appears. */
function Offline() {
  const is_online = useOnline();
  return (
    <div role="status" className={is_online ? undefined : css['offline']}>
      {is_online ? null : t.header.offline}
    </div>
  );
}

/** Moves the focus to the search field of the screen, if it has one. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
  field?.focus();
  return field !== null;
}
