BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v3.2.0.a');
CREATE TABLE studies (
	study_id INTEGER NOT NULL, 
	study_name VARCHAR(512) NOT NULL, 
	PRIMARY KEY (study_id)
);
INSERT INTO "studies" VALUES(1,'elo pair_inversion');
CREATE TABLE study_directions (
	study_direction_id INTEGER NOT NULL, 
	direction VARCHAR(8) NOT NULL, 
	study_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	PRIMARY KEY (study_direction_id), 
	UNIQUE (study_id, objective), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_directions" VALUES(1,'MAXIMIZE',1,0);
CREATE TABLE study_system_attributes (
	study_system_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_system_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE study_user_attributes (
	study_user_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_user_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_user_attributes" VALUES(1,1,'equipoise:question','{"system": "elo", "parameters": {"scale": "400.0", "initial_rating": "1500.0", "margin_rule": "off", "home_advantage": "0.0", "learn_home_advantage": "False", "home_advantage_deviation": "None", "home_advantage_drift": "0.0", "entry": "fixed", "entry_half_life": "1000.0", "entry_weight": "10.0", "entry_clip": "1.0", "hold_level": "0.0", "hold_level_matches": "25", "level_experienced": "5", "level_memory": "2000.0", "level_step": "0.057"}, "ranges": {"k": [4.0, 160.0, "log"]}, "seed": 0, "metric": "pair_inversion", "min_history": 5, "ties_as_authors": false, "history": "a8a25dc626b09292"}');
CREATE TABLE trial_heartbeats (
	trial_heartbeat_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	PRIMARY KEY (trial_heartbeat_id), 
	UNIQUE (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_intermediate_values (
	trial_intermediate_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	intermediate_value FLOAT, 
	intermediate_value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_intermediate_value_id), 
	UNIQUE (trial_id, step), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_params (
	param_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	param_name VARCHAR(512), 
	param_value FLOAT, 
	distribution_json TEXT, 
	PRIMARY KEY (param_id), 
	UNIQUE (trial_id, param_name), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_params" VALUES(1,1,'k',2.88484363998943891269e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(2,2,'k',1.44951162662557976549e+02,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(3,3,'k',3.19538262298101898299e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(4,4,'k',23.4274313637881,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(5,5,'k',2.2872525748923873579e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(6,6,'k',1.92953635380882211336e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(7,7,'k',2.81279818184617482748e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(8,8,'k',4.79043782593892,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(9,9,'k',4.6314303349822438351e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(10,10,'k',5.45048069342573526796e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(11,11,'k',8.34362970546670226247e+01,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
INSERT INTO "trial_params" VALUES(12,12,'k',8.72965027860030495787e+00,'{"name": "FloatDistribution", "attributes": {"step": null, "low": 4.0, "high": 160.0, "log": true}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_user_attributes" VALUES(1,1,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.65357567322502, "rank_deviation": 13.022875984526436, "pair_inversion_top100": 81.65357567322502, "rank_deviation_top100": 13.022875984526436, "ndcg": 0.9583538887546588, "log_loss": 0.5919068816672456, "brier": 0.1886805695485294}}');
INSERT INTO "trial_user_attributes" VALUES(2,2,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.44824652573894, "rank_deviation": 13.221444088762329, "pair_inversion_top100": 81.44824652573894, "rank_deviation_top100": 13.221444088762329, "ndcg": 0.9566317752765132, "log_loss": 0.47062770788980024, "brier": 0.1400193446882566}}');
INSERT INTO "trial_user_attributes" VALUES(3,3,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.65423342830496, "rank_deviation": 13.029808885678918, "pair_inversion_top100": 81.65423342830496, "rank_deviation_top100": 13.029808885678918, "ndcg": 0.9585851001920954, "log_loss": 0.5842784444584831, "brier": 0.1851446254400474}}');
INSERT INTO "trial_user_attributes" VALUES(4,4,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.64151321690191, "rank_deviation": 13.043182731184398, "pair_inversion_top100": 81.64151321690191, "rank_deviation_top100": 13.043182731184398, "ndcg": 0.9583007907446288, "log_loss": 0.6064629061001013, "brier": 0.19553748986846994}}');
INSERT INTO "trial_user_attributes" VALUES(5,5,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.62554273296365, "rank_deviation": 13.05084605996796, "pair_inversion_top100": 81.62554273296365, "rank_deviation_top100": 13.05084605996796, "ndcg": 0.9583614197019749, "log_loss": 0.6080486418810961, "brier": 0.19629241694984179}}');
INSERT INTO "trial_user_attributes" VALUES(6,6,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.64322214961255, "rank_deviation": 13.018571228203616, "pair_inversion_top100": 81.64322214961255, "rank_deviation_top100": 13.018571228203616, "ndcg": 0.9587436415645103, "log_loss": 0.6187325088320594, "brier": 0.20141493828107507}}');
INSERT INTO "trial_user_attributes" VALUES(7,7,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.66334129822502, "rank_deviation": 13.022875984526436, "pair_inversion_top100": 81.66334129822502, "rank_deviation_top100": 13.022875984526436, "ndcg": 0.9583623230267941, "log_loss": 0.5937477429515531, "brier": 0.1895400658422143}}');
INSERT INTO "trial_user_attributes" VALUES(8,8,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.572674296977, "rank_deviation": 13.060869117962197, "pair_inversion_top100": 81.572674296977, "rank_deviation_top100": 13.060869117962197, "ndcg": 0.958204086980748, "log_loss": 0.6716285723916477, "brier": 0.22744194618223182}}');
INSERT INTO "trial_user_attributes" VALUES(9,9,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.57480811730382, "rank_deviation": 13.108731177985895, "pair_inversion_top100": 81.57480811730382, "rank_deviation_top100": 13.108731177985895, "ndcg": 0.9573768631171324, "log_loss": 0.5546023026232212, "brier": 0.17184171654752456}}');
INSERT INTO "trial_user_attributes" VALUES(10,10,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.52221499558955, "rank_deviation": 13.120266657936819, "pair_inversion_top100": 81.52221499558955, "rank_deviation_top100": 13.120266657936819, "ndcg": 0.9574132657975457, "log_loss": 0.5410447251039838, "brier": 0.16604550323304468}}');
INSERT INTO "trial_user_attributes" VALUES(11,11,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.44813200080539, "rank_deviation": 13.200975020367743, "pair_inversion_top100": 81.44813200080539, "rank_deviation_top100": 13.200975020367743, "ndcg": 0.9583313014973781, "log_loss": 0.5065284289176742, "brier": 0.15228921036759033}}');
INSERT INTO "trial_user_attributes" VALUES(12,12,'equipoise:trial','{"status": "done", "reason": "", "metrics": {"pair_inversion": 81.57206502926627, "rank_deviation": 13.073202573353294, "pair_inversion_top100": 81.57206502926627, "rank_deviation_top100": 13.073202573353294, "ndcg": 0.9581214574806047, "log_loss": 0.6555635403768209, "brier": 0.21945314908620317}}');
CREATE TABLE trial_values (
	trial_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	value FLOAT, 
	value_type VARCHAR(7) NOT NULL, 
	PRIMARY KEY (trial_value_id), 
	UNIQUE (trial_id, objective), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_values" VALUES(1,1,0,8.16535756732250206368e+01,'FINITE');
INSERT INTO "trial_values" VALUES(2,2,0,8.14482465257389378655e+01,'FINITE');
INSERT INTO "trial_values" VALUES(3,3,0,8.16542334283049626737e+01,'FINITE');
INSERT INTO "trial_values" VALUES(4,4,0,8.16415132169019130969e+01,'FINITE');
INSERT INTO "trial_values" VALUES(5,5,0,8.16255427329636518152e+01,'FINITE');
INSERT INTO "trial_values" VALUES(6,6,0,8.16432221496125549737e+01,'FINITE');
INSERT INTO "trial_values" VALUES(7,7,0,8.16633412982250206368e+01,'FINITE');
INSERT INTO "trial_values" VALUES(8,8,0,81.572674296977,'FINITE');
INSERT INTO "trial_values" VALUES(9,9,0,8.15748081173038173084e+01,'FINITE');
INSERT INTO "trial_values" VALUES(10,10,0,8.15222149955895503126e+01,'FINITE');
INSERT INTO "trial_values" VALUES(11,11,0,8.14481320008053870634e+01,'FINITE');
INSERT INTO "trial_values" VALUES(12,12,0,8.15720650292662696756e+01,'FINITE');
CREATE TABLE trials (
	trial_id INTEGER NOT NULL, 
	number INTEGER, 
	study_id INTEGER, 
	state VARCHAR(8) NOT NULL, 
	datetime_start DATETIME, 
	datetime_complete DATETIME, 
	PRIMARY KEY (trial_id), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-23 12:11:34.660926','2026-11-23 12:11:34.660926');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-23 12:11:34.822554','2026-11-23 12:11:34.822554');
INSERT INTO "trials" VALUES(3,2,1,'COMPLETE','2026-11-23 12:11:34.937460','2026-11-23 12:11:34.937460');
INSERT INTO "trials" VALUES(4,3,1,'COMPLETE','2026-11-23 12:11:35.064848','2026-11-23 12:11:35.064848');
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-23 12:11:35.164894','2026-11-23 12:11:35.164894');
INSERT INTO "trials" VALUES(6,5,1,'COMPLETE','2026-11-23 12:11:35.288752','2026-11-23 12:11:35.288752');
INSERT INTO "trials" VALUES(7,6,1,'COMPLETE','2026-11-23 12:11:35.408331','2026-11-23 12:11:35.408331');
INSERT INTO "trials" VALUES(8,7,1,'COMPLETE','2026-11-23 12:11:35.504183','2026-11-23 12:11:35.504183');
INSERT INTO "trials" VALUES(9,8,1,'COMPLETE','2026-11-23 12:11:35.597996','2026-11-23 12:11:35.597996');
INSERT INTO "trials" VALUES(10,9,1,'COMPLETE','2026-11-23 12:11:35.699402','2026-11-23 12:11:35.699402');
INSERT INTO "trials" VALUES(11,10,1,'COMPLETE','2026-11-23 12:11:35.805343','2026-11-23 12:11:35.805343');
INSERT INTO "trials" VALUES(12,11,1,'COMPLETE','2026-11-23 12:11:35.904281','2026-11-23 12:11:35.904281');
CREATE TABLE version_info (
	version_info_id INTEGER NOT NULL, 
	schema_version INTEGER, 
	library_version VARCHAR(256), 
	PRIMARY KEY (version_info_id), 
	CHECK (version_info_id=1)
);
INSERT INTO "version_info" VALUES(1,12,'5.0.0');
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE INDEX ix_trials_study_id ON trials (study_id);
COMMIT;
