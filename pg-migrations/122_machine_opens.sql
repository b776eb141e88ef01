-- When a mail program first fetched the message by itself, as some do for every message: no person opened it then.
alter table message_sends add column machine_opened_at timestamptz;
