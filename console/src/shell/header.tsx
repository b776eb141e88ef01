import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Place, Session } from '../api/session.ts';
import { signOut } from '../api/sign-in.ts';
import { useZone, ZONES } from '../format/zone.tsx';
import { t } from '../messages/t.ts';
import { Button } from '../ui/button.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { shortcutsAreOn, switchShortcuts } from '../ui/shortcuts.ts';
import css from './header.module.css';
import { chosenTheme, chooseTheme, THEMES } from './theme.ts';

interface HeaderProps {
  session: Session;
  place: Place;
  places: readonly Place[];
  onSearch: () => void;
}

/** The bar above every screen: project, search, time zone, user. */
export function Header({ session, place, places, onSearch }: HeaderProps) {
  const navigate = useNavigate();
  const zone = useZone();
  const browser = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoneNames = { utc: '', operator: place.timezone, browser };
  const projects = places.map((one) => ({
    key: one.project_id,
    label: `${one.tenant_name} · ${one.project_name}`,
    checked: one.project_id === place.project_id,
    run: () => void navigate({ to: '/overview', search: { project: one.project_id } }),
  }));
  const zones = ZONES.map((choice) => ({
    key: choice,
    label: t.header.zones[choice](zoneNames[choice]),
    checked: choice === zone.choice,
    run: () => zone.choose(choice),
  }));
  return (
    <header className={css['header']}>
      <Menu
        label={t.header.project}
        button={`${place.tenant_name} · ${place.project_name}`}
        items={projects}
      />
      <Button className={css['search']} onClick={onSearch}>
        {t.header.search} <kbd>⌘K</kbd>
      </Button>
      <span className={css['end']}>
        <Menu label={t.header.zone} button={zone.name} items={zones} />
        <UserMenu user_id={session.user_id} role={place.role} />
      </span>
    </header>
  );
}

function UserMenu({ user_id, role }: { user_id: string; role: string }) {
  const [theme, setTheme] = useState(chosenTheme);
  const [shortcuts, setShortcuts] = useState(shortcutsAreOn);
  const themes: MenuItem[] = THEMES.map((one) => ({
    key: one,
    label: t.header.themes[one],
    checked: one === theme,
    run: () => {
      chooseTheme(one);
      setTheme(one);
    },
  }));
  const keys: MenuItem = {
    key: 'keys',
    label: t.header.shortcutsOn,
    checked: shortcuts,
    run: () => {
      switchShortcuts(!shortcuts);
      setShortcuts(!shortcuts);
    },
  };
  const leave: MenuItem = { key: 'leave', label: t.header.signOut, run: () => void signOut() };
  return (
    <Menu
      label={t.header.user}
      button={t.header.signedInAs(user_id, role)}
      items={[...themes, keys, leave]}
    />
  );
}
