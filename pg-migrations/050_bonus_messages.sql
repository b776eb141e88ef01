-- Messages about bonuses: which product they are about, and what players said on messages about each product.

-- `bonus_product` is what the author said, `reads_bonus` whether the source reads `bonus`. One of them makes a message one
-- about a bonus. Of templates that are there already: whether the word occurs in a tag or an output. That may be too
-- often, which is the safe side; the next change of the template finds out exactly.
alter table templates
  add column bonus_product text check (bonus_product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  add column reads_bonus boolean not null default false;
update templates set reads_bonus = true
  where concat_ws(' ', subject, preheader, body, data::text) ~ '\{[{%]((?![%}]\}).)*\mbonus\M';

-- Null: nothing is said. An object says nothing on a channel itself: it says something on products. A single expression,
-- so that the planner can inline it.
create function consent_value(value jsonb) returns boolean
  language sql immutable parallel safe
  return case
    when value is null or jsonb_typeof(value) in ('null', 'object') then null
    else value in ('true', '1', '"true"', '"yes"', '"1"') end;

create or replace function consent_to(attributes jsonb, channel text) returns boolean
  language sql immutable parallel safe
  return case
    when consent_value(attributes -> ('consent.' || channel)) is null
      and consent_value(attributes #> array['consent', channel]) is null then null
    else coalesce(consent_value(attributes -> ('consent.' || channel)), true)
      and coalesce(consent_value(attributes #> array['consent', channel]), true)
  end;

-- A player's consent to messages on a channel about a product: `consent.<channel>.<product>`, or the same in objects. Null:
-- nothing is said. Where it is said more than once, all must be yes.
create function consent_to_product(attributes jsonb, channel text, product text) returns boolean
  language sql immutable parallel safe
  return case
    when consent_value(attributes -> ('consent.' || channel || '.' || product)) is null
      and consent_value(attributes #> array['consent.' || channel, product]) is null
      and consent_value(attributes #> array['consent', channel || '.' || product]) is null
      and consent_value(attributes #> array['consent', channel, product]) is null then null
    else coalesce(consent_value(attributes -> ('consent.' || channel || '.' || product)), true)
      and coalesce(consent_value(attributes #> array['consent.' || channel, product]), true)
      and coalesce(consent_value(attributes #> array['consent', channel || '.' || product]), true)
      and coalesce(consent_value(attributes #> array['consent', channel, product]), true)
  end;

-- What members of a bonus campaign did to get the bonus (null: nothing that is known), and where it is advertised.
alter table bonus_campaigns
  add column qualifying_product text check (qualifying_product in ('casino', 'betting', 'bingo', 'lottery', 'any')),
  add column advertising text not null default 'direct' check (advertising in ('direct', 'own_site', 'public'));

-- What a merge of two players keeps of both, whatever the survivor's own attributes say: each refusal of messages, on a
-- channel or on a product there, the worse `rg_risk`, and the later `birth_date`.
create function protections_of_both(ours jsonb, theirs jsonb) returns jsonb
  language sql immutable parallel safe
  begin atomic
    with attributes as (
      select of.attributes from (values (ours), (theirs)) as of (attributes)
    ), said as (
      select substr(e.key, length('consent.') + 1) as name, e.value
      from attributes a cross join lateral jsonb_each(a.attributes) e where e.key like 'consent.%'
      union all
      select e.key, e.value
      from attributes a cross join lateral jsonb_each(
        case when jsonb_typeof(a.attributes -> 'consent') = 'object' then a.attributes -> 'consent' else '{}' end) e
    ), named as (
      select name, value from said where jsonb_typeof(value) <> 'object'
      union all
      select s.name || '.' || e.key, e.value
      from said s cross join lateral jsonb_each(
        case when jsonb_typeof(s.value) = 'object' then s.value else '{}' end) e
    ), refused as (
      select distinct name from named
      where not consent_value(value) and name ~ '^(email|sms|phone|push)(\.[a-z0-9_-]{1,32})?$'
      order by name limit 100
    ), born as (
      select attributes -> 'birth_date' as birth_date from attributes
      where attributes ->> 'birth_date' ~ '^\d{4}-\d{2}-\d{2}'
      order by left(attributes ->> 'birth_date', 10) collate "C" desc limit 1
    )
    select coalesce((select jsonb_object_agg('consent.' || name, false) from refused), '{}')
      || case
        when 'strong' in (ours ->> 'rg_risk', theirs ->> 'rg_risk') then '{"rg_risk": "strong"}'::jsonb
        when 'low' in (ours ->> 'rg_risk', theirs ->> 'rg_risk') then '{"rg_risk": "low"}'
        else '{}' end
      || coalesce((select jsonb_build_object('birth_date', birth_date) from born), '{}');
  end;
