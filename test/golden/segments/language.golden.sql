-- What the examples compile to. Made by a test: UPDATE_GOLDEN=1 writes it anew.

-- text: equal
select p.player_id as player_id
from (
  select player_id, current_tier_code from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (ifNull(p.current_tier_code = {p0:String}, 0))
-- p0 = "gold"

-- text: not equal, which holds where there is none
select p.player_id as player_id
from (
  select player_id, current_tier_code from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (ifNull(p.current_tier_code = {p0:String}, 0)))
-- p0 = "gold"

-- text: one of a list
select p.player_id as player_id
from (
  select player_id, default_currency_code from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.default_currency_code in {p0:Array(String)})
-- p0 = ["SEK","NOK"]

-- text: none of a list
select p.player_id as player_id
from (
  select player_id, kyc_status from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (p.kyc_status in {p0:Array(String)}))
-- p0 = ["approved","pending"]

-- text: contains, literally
select p.player_id as player_id
from (
  select player_id, email from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (ifNull(position(p.email, {p0:String}) > 0, 0))
-- p0 = "%@example.com"

-- text: begins with
select p.player_id as player_id
from (
  select player_id, phone from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (ifNull(startsWith(p.phone, {p0:String}), 0))
-- p0 = "+356"

-- text: there is one
select p.player_id as player_id
from (
  select player_id, telegram_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.telegram_id is not null)

-- text: there is none
select p.player_id as player_id
from (
  select player_id, email from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (p.email is not null))

-- number: equal
select p.player_id as player_id
from (
  select player_id, kyc_level from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.kyc_level = {p0:Int64})
-- p0 = 2

-- number: not equal
select p.player_id as player_id
from (
  select player_id, ltv_predicted from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (ifNull(p.ltv_predicted = {p0:Float64}, 0)))
-- p0 = 0.5

-- number: more than, in the smallest unit of the base currency
select p.player_id as player_id
from (
  select player_id, total_deposited from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.total_deposited > {p0:Int64})
-- p0 = 50000

-- number: at least, less than, at most
select p.player_id as player_id
from (
  select player_id, bet_count, session_count, churn_score from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.bet_count >= {p0:Int64}) and (p.session_count < {p1:Int64}) and (p.churn_score <= {p2:Float64}))
-- p0 = 2
-- p1 = 10
-- p2 = 0.75

-- number: one of a list, none of another
select p.player_id as player_id
from (
  select player_id, kyc_level, bet_count from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((has({p0:Array(Int128)}, toInt128(p.kyc_level))) and (not (p.bet_count = {p1:Int64})))
-- p0 = [1,2]
-- p1 = 0

-- number: between, both ends included
select p.player_id as player_id
from (
  select player_id, ggr from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.ggr >= {p0:Int64} and p.ggr <= {p1:Int64})
-- p0 = -100
-- p1 = 100

-- number: known, or not known
select p.player_id as player_id
from (
  select player_id, ltv_predicted, kyc_level from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.ltv_predicted is not null) or (not (1)))

-- date: before a moment
select p.player_id as player_id
from (
  select player_id, created_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.created_at < fromUnixTimestamp64Milli({p0:Int64}, 'UTC'))
-- p0 = 1778842800000

-- date: after a moment
select p.player_id as player_id
from (
  select player_id, tier_promoted_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (ifNull(p.tier_promoted_at > fromUnixTimestamp64Milli({p0:Int64}, 'UTC'), 0))
-- p0 = 1777593600000

-- date: between two moments, both included
select p.player_id as player_id
from (
  select player_id, created_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.created_at >= fromUnixTimestamp64Milli({p0:Int64}, 'UTC') and p.created_at <= fromUnixTimestamp64Milli({p1:Int64}, 'UTC'))
-- p0 = 1778760000000
-- p1 = 1778846400000

-- date: within the last days
select p.player_id as player_id
from (
  select player_id, last_seen_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.last_seen_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p0:Int64}, 'UTC') and p.last_seen_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'))
-- p0 = 604800000

-- date: not within the last hours, which holds for never
select p.player_id as player_id
from (
  select player_id, tier_promoted_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (ifNull(p.tier_promoted_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p0:Int64}, 'UTC') and p.tier_promoted_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)))
-- p0 = 172800000

-- custom attribute: equal, by its type
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((JSONType(p.custom_attributes, {p0:String}) in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(p.custom_attributes, {p0:String}) = {p1:Float64}))
-- p0 = "vip_level"
-- p1 = 12

-- custom attribute: text that could be another type
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((JSONType(p.custom_attributes, {p0:String}) = 'String' and JSONExtractString(p.custom_attributes, {p0:String}) in {p1:Array(String)}))
-- p0 = "code"
-- p1 = ["12","true","spring",""]

-- custom attribute: true or false
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not ((JSONType(p.custom_attributes, {p0:String}) = 'Bool' and JSONExtractBool(p.custom_attributes, {p0:String}) = true)))
-- p0 = "newsletter"

-- custom attribute: a number compared
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((JSONType(p.custom_attributes, {p0:String}) in ('Int64', 'UInt64', 'Double') and JSONExtractFloat(p.custom_attributes, {p0:String}) >= {p1:Float64} and JSONExtractFloat(p.custom_attributes, {p0:String}) <= {p2:Float64}))
-- p0 = "points"
-- p1 = 10
-- p2 = 20

-- custom attribute: a list has this element, a text this part
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (((JSONType(p.custom_attributes, {p0:String}) = 'String' and position(JSONExtractString(p.custom_attributes, {p0:String}), {p1:String}) > 0) or (JSONType(p.custom_attributes, {p0:String}) = 'Array' and arrayExists(x -> (JSONType(x) = 'String' and JSONExtractString(x) = {p1:String}), JSONExtractArrayRaw(p.custom_attributes, {p0:String})))))
-- p0 = "tags"
-- p1 = "vip"

-- custom attribute: begins with
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((JSONType(p.custom_attributes, {p0:String}) = 'String' and startsWith(JSONExtractString(p.custom_attributes, {p0:String}), {p1:String})))
-- p0 = "affiliate"
-- p1 = "net_"

-- custom attribute: a text that is a date
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (ifNull(if(JSONType(p.custom_attributes, {p0:String}) = 'String' and match(JSONExtractString(p.custom_attributes, {p0:String}), '^([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$'), parseDateTime64BestEffortOrNull(JSONExtractString(p.custom_attributes, {p0:String}), 3, 'UTC'), null) > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and if(JSONType(p.custom_attributes, {p0:String}) = 'String' and match(JSONExtractString(p.custom_attributes, {p0:String}), '^([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$'), parseDateTime64BestEffortOrNull(JSONExtractString(p.custom_attributes, {p0:String}), 3, 'UTC'), null) <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0))
-- p0 = "shop_visit"
-- p1 = 259200000

-- custom attribute: there is none; the key is no path
select p.player_id as player_id
from (
  select player_id, custom_attributes from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (not (JSONType(p.custom_attributes, {p0:String}) != 'Null'))
-- p0 = "a.b"

-- groups: AND, OR and NOT, one in another
select p.player_id as player_id
from (
  select player_id, current_tier_code, bet_count, kyc_status, kyc_level from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (((ifNull(p.current_tier_code = {p0:String}, 0)) or (p.bet_count >= {p1:Int64})) and (not ((p.kyc_status = {p2:String}) and (p.kyc_level = {p3:Int64}))))
-- p0 = "gold"
-- p1 = 100
-- p2 = "rejected"
-- p3 = 0

-- count: at least so many in the last days
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where (e.a0 >= {p0:Int64})
-- p0 = 2
-- p1 = "bet_placed"
-- p2 = 604800000

-- count: never
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String}
  group by owner
) as e on e.owner = p.player_id
where (e.a0 = {p0:Int64})
-- p0 = 0
-- p1 = "deposit_confirmed"

-- count: at all, lately
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, toUInt64(1) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
) as e on e.owner = p.player_id
where (e.a0 > {p0:Int64})
-- p0 = 0
-- p1 = "bet_placed"
-- p2 = 86400000

-- count: not at all lately, with a property
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, toUInt64(1) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and JSONExtractString(properties, {p3:String}) = {p4:String}
) as e on e.owner = p.player_id
where (e.a0 < {p0:Int64})
-- p0 = 1
-- p1 = "bet_placed"
-- p2 = 86400000
-- p3 = "game_category"
-- p4 = "slots"

-- count: from a moment until before another
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String} and occurred_at >= fromUnixTimestamp64Milli({p3:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p4:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where (e.a0 >= {p0:Int64} and e.a0 <= {p1:Int64})
-- p0 = 1
-- p1 = 2
-- p2 = "login"
-- p3 = 1777593600000
-- p4 = 1778198400000

-- count: only events with a property
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and JSONExtractString(properties, {p2:String}) in {p3:Array(String)}
  group by owner
) as e on e.owner = p.player_id
where (e.a0 >= {p0:Int64})
-- p0 = 1
-- p1 = "bet_placed"
-- p2 = "game_category"
-- p3 = ["slots","live"]

-- count: only events over an amount, in the base currency
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and ifNull(base_amount > {p2:Int64}, 0) and not (JSONExtractString(properties, {p3:String}) = {p4:String})
  group by owner
) as e on e.owner = p.player_id
where (e.a0 >= {p0:Int64})
-- p0 = 1
-- p1 = "deposit_confirmed"
-- p2 = 10000
-- p3 = "payment_method"
-- p4 = "card"

-- sum of money; of nothing it is 0
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sum(toInt128(ifNull(base_amount, 0))) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where (e.a0 <= {p0:Int64})
-- p0 = 50000
-- p1 = "deposit_confirmed"
-- p2 = 2592000000

-- sum of another property: exact, and of numbers only
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sum(if(JSONType(properties, {p0:String}) in ('Int64', 'UInt64', 'Double'), ifNull(toDecimal256OrNull(if(JSONType(properties, {p0:String}) = 'Double' and abs(JSONExtractFloat(properties, {p0:String})) > 9007199254740991, coalesce(nullIf(extract(properties, {p1:String}), ''), JSONExtractRaw(properties, {p0:String})), JSONExtractRaw(properties, {p0:String})), 18), 0), 0)) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p3:String}
  group by owner
) as e on e.owner = p.player_id
where (e.a0 = {p2:Decimal(76, 18)})
-- p0 = "points"
-- p1 = "[{,]\"points\":(-?[0-9]+)e[+]00"
-- p2 = "0.300000000000000000"
-- p3 = "custom_spin"

-- mean of money; of nothing it is missing
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sum(toInt128(ifNull(base_amount, 0))) as a0, countIf(base_amount is not null) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String}
  group by owner
) as e on e.owner = p.player_id
where (ifNull(if(e.a1 = 0, null, toDecimal256(e.a0, 0)) < {p0:Decimal(76, 18)} * e.a1, 0))
-- p0 = "250.000000000000000000"
-- p1 = "bet_placed"

-- mean of another property
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sum(if(JSONType(properties, {p0:String}) in ('Int64', 'UInt64', 'Double'), ifNull(toDecimal256OrNull(if(JSONType(properties, {p0:String}) = 'Double' and abs(JSONExtractFloat(properties, {p0:String})) > 9007199254740991, coalesce(nullIf(extract(properties, {p1:String}), ''), JSONExtractRaw(properties, {p0:String})), JSONExtractRaw(properties, {p0:String})), 18), 0), 0)) as a0, countIf(JSONType(properties, {p0:String}) in ('Int64', 'UInt64', 'Double')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p3:String}
  group by owner
) as e on e.owner = p.player_id
where (ifNull(if(e.a1 = 0, null, e.a0) >= {p2:Decimal(76, 18)} * e.a1, 0))
-- p0 = "points"
-- p1 = "[{,]\"points\":(-?[0-9]+)e[+]00"
-- p2 = "2.500000000000000000"
-- p3 = "custom_spin"

-- least and greatest, of money and of another property
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, minOrNullIf(base_amount, event = {p0:String}) as a0, maxOrNullIf(if(JSONType(properties, {p2:String}) in ('Int64', 'UInt64', 'Double'), JSONExtractFloat(properties, {p2:String}), null), event = {p3:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String}) or (event = {p3:String}))
  group by owner
) as e on e.owner = p.player_id
where ((ifNull(e.a0 >= {p1:Int64}, 0)) and (ifNull(e.a1 < {p4:Float64}, 0)))
-- p0 = "deposit_confirmed"
-- p1 = 1000
-- p2 = "points"
-- p3 = "custom_spin"
-- p4 = 10

-- how many different values
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, uniqExact(if(JSONType(properties, {p0:String}) = 'Null', null, if(JSONType(properties, {p0:String}) = 'Double' and abs(JSONExtractFloat(properties, {p0:String})) > 9007199254740991, coalesce(nullIf(extract(properties, {p1:String}), ''), JSONExtractRaw(properties, {p0:String})), JSONExtractRaw(properties, {p0:String})))) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where (e.a0 >= {p2:Int64})
-- p0 = "game_id"
-- p1 = "[{,]\"game_id\":(-?[0-9]+)e[+]00"
-- p2 = 2
-- p3 = "bet_placed"
-- p4 = 172800000

-- the first event: when
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, minOrNull(occurred_at) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String}
  group by owner
) as e on e.owner = p.player_id
where (ifNull(e.a0 > fromUnixTimestamp64Milli({p0:Int64}, 'UTC'), 0))
-- p0 = 1778241600000
-- p1 = "deposit_confirmed"

-- the last event: when; also who never did it
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, maxOrNull(occurred_at) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p1:String}
  group by owner
) as e on e.owner = p.player_id
where (not (ifNull(e.a0 > fromUnixTimestamp64Milli({now_ms:Int64} - {p0:Int64}, 'UTC') and e.a0 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)))
-- p0 = 1209600000
-- p1 = "login"

-- the first event inside a window
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, minOrNull(occurred_at) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where (e.a0 is not null)
-- p0 = "login"
-- p1 = 86400000

-- several windows of one event, read in one go
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p0:String} and occurred_at >= fromUnixTimestamp64Milli({p3:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p4:Int64}, 'UTC')) as a1, sumIf(toInt128(ifNull(base_amount, 0)), event = {p6:String}) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and ((occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (occurred_at >= fromUnixTimestamp64Milli({p3:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p4:Int64}, 'UTC')))) or (event = {p6:String}))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (e.a1 = {p5:Int64}) and (e.a2 > {p5:Int64}))
-- p0 = "bet_placed"
-- p1 = 604800000
-- p2 = 1
-- p3 = 1775001600000
-- p4 = 1777593600000
-- p5 = 0
-- p6 = "deposit_confirmed"

-- sequence: one thing later than another, inside a window
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where (notEmpty(arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a1], [arraySort(e.a0)])[1]))
-- p0 = "deposit_confirmed"
-- p1 = 604800000
-- p2 = "bet_placed"

-- sequence: each step soon after the one before
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p0:String}) as a0, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p1:String}) as a1, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p2:String} and ifNull(base_amount >= {p3:Int64}, 0)) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String}) or (event = {p1:String}) or (event = {p2:String}))
  group by owner
) as e on e.owner = p.player_id
where (notEmpty(arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0 and m.1 - reached[i] <= {p5:Int64}, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a2], [arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0 and m.1 - reached[i] <= {p4:Int64}, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a1], [arraySort(e.a0)])[1]])[1]))
-- p0 = "deposit_failed"
-- p1 = "deposit_initiated"
-- p2 = "deposit_confirmed"
-- p3 = 1000
-- p4 = 3600000
-- p5 = 7200000

-- in another segment
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select player_id from segment_members final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and segment_id = {p0:UUID}))
-- p0 = "01980000-0000-7000-8000-0000000000aa"

-- not in another segment
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id not in (select player_id from segment_members final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and segment_id = {p0:UUID}))
-- p0 = "01980000-0000-7000-8000-0000000000aa"

-- on a list, which stays as it was written
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select player_id from segment_members final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and segment_id = {p0:UUID}))
-- p0 = "01980000-0000-7000-8000-0000000000aa"

-- random: a stable share of all players
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (halfMD5(concat({p0:String}, ':', toString(p.player_id))) % 1000000 < {p1:UInt32})
-- p0 = "spring"
-- p1 = 100000

-- message: sent, at any time
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and sent_at is not null))
-- p0 = "email"

-- message: opened, of one campaign, in the last days
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and campaign_id = {p1:UUID} and coalesce(opened_at, clicked_at) > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and coalesce(opened_at, clicked_at) <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
-- p0 = "email"
-- p1 = "00000000-0000-4000-8000-00000000005a"
-- p2 = 604800000

-- message: delivered between two dates
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and coalesce(delivered_at, opened_at, clicked_at) >= fromUnixTimestamp64Milli({p1:Int64}, 'UTC') and coalesce(delivered_at, opened_at, clicked_at) < fromUnixTimestamp64Milli({p2:Int64}, 'UTC')))
-- p0 = "sms"
-- p1 = 1777593600000
-- p2 = 1778241600000

-- message: bounced
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and bounced_at is not null))
-- p0 = "email"

-- message: failed today, by the time it was queued
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and if(status = 'failed', enqueued_at, null) > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and if(status = 'failed', enqueued_at, null) <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
-- p0 = "email"
-- p1 = 86400000

-- message: sent but not clicked
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and sent_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and sent_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'))) and (not (p.player_id in (select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner from message_sends final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and channel = {p0:String} and clicked_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and clicked_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))))
-- p0 = "email"
-- p1 = 2592000000
