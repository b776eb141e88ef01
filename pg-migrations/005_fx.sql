-- 1 whole unit of `base` = `rate` whole units of `quote`, from `ts` on until a later rate of the same pair. The fetch
-- job writes rows. Operators may insert rows with the source 'manual' (README, "Manual rates").
create table fx_rates (
  tenant_id uuid not null,
  base text not null,
  quote text not null,
  -- In milliseconds, like the times of events.
  ts timestamptz(3) not null default now() check (isfinite(ts)),
  -- Postgres treats NaN as greater than infinity, so the check refuses both.
  rate numeric not null check (rate > 0 and rate < 'infinity'),
  source text not null default 'manual',
  primary key (tenant_id, base, quote, ts),
  foreign key (tenant_id, base) references currencies,
  foreign key (tenant_id, quote) references currencies,
  check (base <> quote)
);
call protect_tenant_table('fx_rates');

-- Rates that were inserted, updated or deleted, by a trigger. fx-restater restates the ledger and removes the rows.
create table fx_rate_changes (
  tenant_id uuid not null,
  change_id bigint generated always as identity unique,
  base text not null,
  quote text not null,
  ts timestamptz(3) not null,
  primary key (tenant_id, change_id)
);
call protect_tenant_table('fx_rate_changes');

create function note_fx_rate_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts, new.rate)
      = (old.tenant_id, old.base, old.quote, old.ts, old.rate) then
    return null;
  end if;
  -- A rate that moved leaves a gap where it was.
  if tg_op = 'DELETE' or tg_op = 'UPDATE' and (new.tenant_id, new.base, new.quote, new.ts)
      <> (old.tenant_id, old.base, old.quote, old.ts) then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (old.tenant_id, old.base, old.quote, old.ts);
  end if;
  if tg_op <> 'DELETE' then
    insert into fx_rate_changes (tenant_id, base, quote, ts) values (new.tenant_id, new.base, new.quote, new.ts);
  end if;
  perform pg_notify('fx_rates', '');
  return null;
end $$;
create trigger fx_rate_changed after insert or update or delete on fx_rates
  for each row execute function note_fx_rate_change();

-- The rate of a pair at a moment: the latest rate of the pair by then, or else the latest rate of the opposite pair
-- (`rate_is_inverse`: divide by it). No row when neither is known. Postgres inlines it into the calling query.
create function rate_at(of_tenant uuid, from_code text, to_code text, moment timestamptz)
  returns table (rate numeric, rate_ts timestamptz, rate_is_inverse boolean, source text)
  language sql stable parallel safe as $$
    select c.rate, c.ts, c.is_inverse, c.source
    from (
      (select f.rate, f.ts, false as is_inverse, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = from_code and f.quote = to_code and f.ts <= moment
        order by f.ts desc limit 1)
      union all
      (select f.rate, f.ts, true, f.source from fx_rates f
        where f.tenant_id = of_tenant and f.base = to_code and f.quote = from_code and f.ts <= moment
        order by f.ts desc limit 1)
    ) c
    order by c.is_inverse
    limit 1
  $$;

-- The direction of `rate`, stored as published: of the pair currency → base, or base → currency when inverse.
alter table ledger add column rate_is_inverse boolean;

-- The rows that a change of rates can affect: those converted by a rate, and those without a known rate.
create index ledger_by_rate on ledger (tenant_id, currency, occurred_at, project_id, reference, event, occurrence)
  where rate is not null or (amount is not null and base_amount is null) or (payout is not null and base_payout is null);

-- The base amounts and the rate of a ledger row before it was restated.
create table ledger_adjustments (
  tenant_id uuid not null,
  project_id uuid not null,
  adjustment_id bigint generated always as identity,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  base_amount bigint,
  base_payout bigint,
  rate numeric,
  rate_ts timestamptz,
  rate_is_inverse boolean,
  adjusted_at timestamptz not null,
  primary key (tenant_id, project_id, adjustment_id)
);
create index ledger_adjustments_by_row on ledger_adjustments (tenant_id, project_id, reference, event, occurrence);
call protect_tenant_table('ledger_adjustments');

-- Ledger rows whose base amounts changed. event-rewriter corrects their events in ClickHouse and removes the rows.
create table event_corrections (
  tenant_id uuid not null,
  correction_id bigint generated always as identity unique,
  project_id uuid not null,
  reference text not null,
  event money_event not null,
  occurrence bigint not null,
  primary key (tenant_id, correction_id)
);
call protect_tenant_table('event_corrections');
