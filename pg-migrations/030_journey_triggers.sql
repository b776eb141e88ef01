-- Events start runs of journeys, too.
alter table trigger_events drop constraint trigger_events_listener_kind_check,
  add constraint trigger_events_listener_kind_check check (listener_kind in ('campaign', 'journey'));
