-- What the apps on players' devices report on pushes, until it is written to the messages. So the consumer waits for no
-- message that another transaction has locked.
create table push_receipts (
  tenant_id uuid not null,
  receipt_id bigint generated always as identity,
  project_id uuid not null,
  player_id uuid not null,
  send_id uuid not null,
  step text not null check (step in ('opened', 'clicked')),
  at timestamptz not null,
  primary key (tenant_id, receipt_id)
);
call protect_tenant_table('push_receipts');
